create or replace function :SCHEMA.read_acks(acks json, own boolean default false)
returns :SCHEMA.ack_input[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_acks :SCHEMA.ack_input[];
  v_values bigint;
  v_plain boolean;
  v_bad record;
begin
  if json_typeof(acks) is distinct from 'array' or json_array_length(acks) > 10000 then
    perform :SCHEMA.raise_invalid('acks', 'must be a list', '0..10000 objects');
  end if;
  begin
    select array_agg(cast(row(r.ord, r.job_id,
        case
          when length(r.job_id) = 17 and r.job_id ~ '^j[0-9a-f]+$'
            then ('x' || substr(r.job_id, 2))::bit(64)::bigint
          else (select j.key from :SCHEMA.job j where j.id = r.job_id)
        end,
        r.lease_id, r.fence, r.outcome, case when r.error is not null
          then :SCHEMA.cut_text(r.error, 8192) end, r.delay_ms,
        case when r.logs is not null then :SCHEMA.cut_logs(r.logs::jsonb) end,
        r.actual_weight, r.result_schema_version, decode(r.result_base64,
          'base64')) as :SCHEMA.ack_input) order by r.ord),
      sum(num_nonnulls(r.job_id, r.lease_id, r.fence, r.outcome, r.error, r.delay_ms, r.logs, r.actual_weight,
        r.result_schema_version, r.result_base64)),
      bool_and((num_nonnulls(r.job_id, r.lease_id, r.fence) = 3 and r.outcome = 'success') is true)
    into v_acks, v_values, v_plain
    from rows from (json_to_recordset(acks) as (
      job_id text, lease_id text, fence bigint, outcome text, error text, delay_ms bigint, logs json,
      actual_weight integer, result_schema_version integer, result_base64 text)) with ordinality
      as r(job_id, lease_id, fence, outcome, error, delay_ms, logs, actual_weight, result_schema_version,
        result_base64, ord);
    -- A key has a colon behind it: as many as there are values, and each is one of these.
    if not own and v_values <> octet_length(acks::text) - octet_length(replace(acks::text, ':', '')) then
      perform :SCHEMA.check_item_keys(acks, 'ack', '{job_id,lease_id,fence,outcome,error,delay_ms,logs,'
        'actual_weight,result_schema_version,result_base64}');
    end if;
  exception when data_exception or invalid_parameter_value then
    perform :SCHEMA.raise_invalid('acks', sqlerrm,
      'objects of job_id, lease_id, fence, outcome and the like');
  end;
  -- Successes with nothing beside them are what most batches consist of.
  if v_plain and v_values = 4 * cardinality(v_acks) then
    return v_acks;
  end if;
  select f.ord, f.fault into v_bad
  from (
    select a.ord, case
      when a.id is null then 'job_id|must be given|text'
      when a.lease_id is null then 'lease_id|must be given|text'
      when a.fence is null then 'fence|must be given|a whole number'
      when a.outcome is null or a.outcome not in ('success', 'retry', 'skip', 'revoke', 'snooze',
        'rate_limited',
          'undecodable', 'checkpoint_stale') then
        'outcome|is unknown: ' || coalesce(translate(left(a.outcome, 40), '|', '/'), 'null')
        || '|success, retry, skip, revoke, snooze, rate_limited, undecodable, checkpoint_stale'
      when a.delay_ms not between 0 and 315576000000000 then 'delay_ms|is out of bounds|0..10000 years'
      when a.outcome = 'snooze' and coalesce(a.delay_ms, 0) < 1
        then 'delay_ms|is needed for a snooze|at least 1'
      when a.actual_weight < 0 then 'actual_weight|is out of bounds|0..2147483647'
      when a.result_schema_version < 1 then 'result_schema_version|is out of bounds|at least 1'
      when a.result is not null and a.outcome <> 'success' then 'result|goes with success only|success'
      when octet_length(a.result) > 33554432 then 'result|is too long|at most 33554432 bytes'
    end as fault
    from unnest(v_acks) a
  ) f
  where f.fault is not null
  order by f.ord
  limit 1;
  if found then
    perform :SCHEMA.raise_invalid(split_part(v_bad.fault, '|', 1),
      split_part(v_bad.fault, '|', 2) || case when cardinality(v_acks) > 1 then ' (ack ' || v_bad.ord || ')'
        else '' end,
      split_part(v_bad.fault, '|', 3));
  end if;
  return coalesce(v_acks, '{}');
end;
$$;
comment on function :SCHEMA.read_acks is
  'The JSON of ack_many as rows, checked: HR007 for the first bad value or, unless a function of our own has '
  'made it, unknown key. Texts and logs are cut to their limits.';
revoke all on function :SCHEMA.read_acks from public;
