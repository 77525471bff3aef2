create or replace function :SCHEMA.read_acks(acks json)
returns :SCHEMA.ack_input[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_acks :SCHEMA.ack_input[];
  v_bad record;
begin
  if json_typeof(acks) is distinct from 'array' or json_array_length(acks) > 10000 then
    perform :SCHEMA.raise_invalid('acks', 'must be a list', '0..10000 objects');
  end if;
  begin
    select array_agg(cast(row(r.ord, r.job_id,
        case
          when r.job_id ~ '^j[0-9a-f]{16}$' then ('x' || substr(r.job_id, 2))::bit(64)::bigint
          else (select j.key from :SCHEMA.job j where j.id = r.job_id)
        end,
        r.lease_id, r.fence, r.outcome, :SCHEMA.cut_text(r.error, 8192), r.delay_ms,
          :SCHEMA.cut_logs(r.logs::jsonb),
        r.actual_weight, r.result_schema_version, decode(r.result_base64,
          'base64')) as :SCHEMA.ack_input) order by r.ord)
    into v_acks
    from rows from (json_to_recordset(acks) as (
      job_id text, lease_id text, fence bigint, outcome text, error text, delay_ms bigint, logs json,
      actual_weight integer, result_schema_version integer, result_base64 text)) with ordinality
      as r(job_id, lease_id, fence, outcome, error, delay_ms, logs, actual_weight, result_schema_version,
        result_base64, ord);
  exception when data_exception or invalid_parameter_value then
    perform :SCHEMA.raise_invalid('acks', sqlerrm,
      'objects of job_id, lease_id, fence, outcome and the like');
  end;
  select a.ord, f.field, f.reason, f.bound into v_bad
  from unnest(v_acks) a
  cross join lateral (values
    ('job_id', 'must be given', 'text', a.id is null),
    ('lease_id', 'must be given', 'text', a.lease_id is null),
    ('fence', 'must be given', 'a whole number', a.fence is null),
    ('outcome', 'is unknown: ' || coalesce(left(a.outcome, 40), 'null'),
      'success, retry, skip, revoke, snooze, rate_limited, undecodable, checkpoint_stale',
        coalesce(a.outcome, '') not in
      ('success', 'retry', 'skip', 'revoke', 'snooze', 'rate_limited', 'undecodable', 'checkpoint_stale')),
    ('delay_ms', 'is out of bounds', '0..10000 years', a.delay_ms not between 0 and 315576000000000),
    ('delay_ms', 'is needed for a snooze', 'at least 1', a.outcome = 'snooze'
      and coalesce(a.delay_ms, 0) < 1),
    ('actual_weight', 'is out of bounds', '0..2147483647', a.actual_weight < 0),
    ('result_schema_version', 'is out of bounds', 'at least 1', a.result_schema_version < 1),
    ('result', 'goes with success only', 'success', a.result is not null and a.outcome <> 'success'),
    ('result', 'is too long', 'at most 33554432 bytes', octet_length(a.result) > 33554432)
  ) f(field, reason, bound, bad)
  where f.bad and (a.outcome is distinct from 'success' or a.delay_ms is not null
    or a.actual_weight is not null
    or a.result is not null or a.id is null or a.lease_id is null or a.fence is null)
  order by a.ord
  limit 1;
  if found then
    perform :SCHEMA.raise_invalid(v_bad.field,
      v_bad.reason || case when cardinality(v_acks) > 1 then ' (ack ' || v_bad.ord || ')' else '' end,
        v_bad.bound);
  end if;
  return coalesce(v_acks, '{}');
end;
$$;
comment on function :SCHEMA.read_acks is
  'The JSON of ack_many as rows, checked: HR007 for the first bad value. Texts and logs are cut to their '
  'limits.';
revoke all on function :SCHEMA.read_acks from public;
