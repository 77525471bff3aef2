create or replace function :SCHEMA.check_jobs(jobs :SCHEMA.job_input[])
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_plain boolean;
  v_bytes bigint;
  v_bad record;
begin
  if coalesce(cardinality(jobs), 0) not between 1 and 10000 then
    perform :SCHEMA.raise_invalid('jobs', 'has ' || coalesce(cardinality(jobs), 0) || ' jobs',
      '1..10000 jobs');
  end if;
  -- Most jobs have none of the rarer fields, and first_fault costs more than all that is checked here. Is
  -- true: bool_and passes over nulls, and a missing kind makes one.
  select bool_and((j.fault is null and j.kind ~ '^[A-Za-z0-9_][A-Za-z0-9_.:-]*$'
    and octet_length(j.kind) <= 128
      and octet_length(j.queue) <= 255 and octet_length(j.partition_key) <= 255
      and octet_length(j.payload) <= 1048576 and j.max_attempts >= 1 and j.weight = 1 and j.schema_version = 1
      and j.sticky_worker = '' and not j.pending
      and num_nonnulls(j.id, j.rate_classes, j.fingerprint, j.scheduled_at_ms, j.delay_ms, j.timeout_ms,
        j.deadline_ms, j.retention_ms, j.unique_key, j.unique_window_ms, j.unique_replace,
        j.unique_debounce_ms, j.headers, j.tags, j.periodic_schedule_id, j.periodic_tick_ms) = 0) is true),
    sum(octet_length(j.payload))
  into v_plain, v_bytes
  from unnest(jobs) j;
  if v_plain is not true then
    v_bad := :SCHEMA.first_fault(jobs);
    if v_bad.fault is not null then
      perform :SCHEMA.raise_invalid(split_part(v_bad.fault, '|', 1),
        split_part(v_bad.fault, '|', 2) || case when cardinality(jobs) > 1 then ' (job ' || v_bad.ord || ')'
          else '' end,
        split_part(v_bad.fault, '|', 3));
    end if;
  end if;
  if v_bytes > 67108864 then
    perform :SCHEMA.raise_invalid('jobs', 'carries ' || v_bytes || ' bytes of payload',
      'at most 67108864 bytes');
  end if;
  if v_plain is not true and cardinality(jobs) > 1 then
    select j.id into v_bad from unnest(jobs) j where j.id is not null group by j.id having count(*) > 1
      limit 1;
    if found then
      perform :SCHEMA.raise_error('HR002', 'one id names two jobs of the batch',
        jsonb_build_object('job_id', v_bad.id));
    end if;
  end if;
end;
$$;
comment on function :SCHEMA.check_jobs is
  'Raises HR007 for the first job outside the limits, naming field, fault and bound, and HR002 where one id '
  'stands twice.';
revoke all on function :SCHEMA.check_jobs from public;
