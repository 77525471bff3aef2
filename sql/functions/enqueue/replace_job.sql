create or replace function :SCHEMA.replace_job(holder :SCHEMA.job, job :SCHEMA.job_input, at_ms bigint)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fields text[] := coalesce(job.unique_replace, '{}');
  v_debounce boolean := job.unique_debounce_ms is not null;
  v_payload boolean := v_debounce or 'payload' = any (v_fields);
  v_start_ms bigint;
  v_state :SCHEMA.job_state := holder.state;
  v_new :SCHEMA.job;
begin
  if (v_fields = '{}' and not v_debounce) or holder.state not in ('pending', 'scheduled', 'available',
    'retryable') then
    return false;
  end if;
  v_start_ms := case
    when v_debounce then at_ms + job.unique_debounce_ms
    when 'scheduled_at' = any (v_fields) and holder.state in ('scheduled', 'retryable') then
      coalesce(job.scheduled_at_ms, at_ms + coalesce(job.delay_ms, 0))
    else holder.scheduled_at_ms
  end;
  if v_debounce and holder.state in ('available', 'retryable') then
    v_state := 'scheduled';
  end if;
  update :SCHEMA.job j
  set state = v_state,
    scheduled_at_ms = v_start_ms,
    payload = case when v_payload then job.payload else j.payload end,
    schema_version = case when v_payload then job.schema_version else j.schema_version end,
    fingerprint = case when v_payload then job.fingerprint else j.fingerprint end,
    tags = case when v_debounce then job.tags else j.tags end,
    priority = case when 'priority' = any (v_fields) then job.priority else j.priority end,
    max_attempts = case when 'max_attempts' = any (v_fields) then job.max_attempts else j.max_attempts end
  where j.key = holder.key
  returning * into v_new;
  if v_new.state = 'available' then
    perform :SCHEMA.open_lanes(array[cast(row(v_new.queue, v_new.partition_key, v_new.sticky_worker,
      v_new.class_key, v_new.priority, v_new.scheduled_at_ms, v_new.key) as :SCHEMA.lane_entry)]);
  end if;
  return true;
end;
$$;
comment on function :SCHEMA.replace_job is
  'Applies unique_replace or unique_debounce_ms to the holder of a unique key, which the caller has locked. '
  'False where nothing was asked for or the holder is running. A kind never changes; a pending job stays '
  'pending.';
revoke all on function :SCHEMA.replace_job from public;
