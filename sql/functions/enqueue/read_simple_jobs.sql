create or replace function :SCHEMA.read_simple_jobs(list json, out jobs :SCHEMA.simple_job[],
  out kinds text[])
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_jobs :SCHEMA.simple_job[];
  v_fault boolean;
  v_length bigint;
begin
  -- The jobs of a list are mostly of one make, so this spares what comes now where it would be in vain.
  if (list -> 0)::jsonb - :SCHEMA.simple_fields() <> '{}' then
    return;
  end if;
  select array_agg(cast(row(r.kind, r.content, r.queue, coalesce(r.partition_key #>> '{}', ''),
      nullif(r.rate_class #>> '{}', ''), coalesce(r.priority, 0), coalesce(r.max_attempts, 25),
      coalesce(r.schema_version, 1), coalesce(r.delay_ms, 0), nullif(r.timeout_ms, 0),
      nullif(r.retention_ms, 0), nullif(r.headers::jsonb, '{}')) as :SCHEMA.simple_job)),
    array_agg(r.kind),
    count(*) > 10000 or sum(octet_length(r.content)) > 67108864 or coalesce(bool_or(
      r.kind is null or octet_length(r.content) > 1048576
      or r.payload is not null and r.payload_base64 is not null
      or octet_length(r.queue) > 255 or octet_length(r.partition_key #>> '{}') > 255
      or octet_length(r.rate_class #>> '{}') > 255 or r.schema_version < 1 or r.max_attempts < 1
      or r.delay_ms not between 0 and 315576000000000
      or r.timeout_ms not between 0 and 315576000000000
      or r.retention_ms not between 0 and 315576000000000
      or json_typeof(r.headers) <> 'object' or octet_length(r.headers::text) > 1024
      or strpos(r.headers::jsonb::text, 'headrace-') > 0), false),
    -- {} of each job and commas stand for two more characters each, and [] for one more.
    1 + sum(2 + octet_length('"kind":,' || r.kind_json::text)
      + coalesce(octet_length('"payload":,' || r.payload::text), 0)
      + coalesce(octet_length('"payload_base64":,' || r.payload_base64::text), 0)
      + coalesce(octet_length('"queue":,' || r.queue_json::text), 0)
      + coalesce(octet_length('"partition_key":,' || r.partition_key::text), 0)
      + coalesce(octet_length('"rate_class":,' || r.rate_class::text), 0)
      + coalesce(octet_length('"priority":,' || r.priority), 0)
      + coalesce(octet_length('"max_attempts":,' || r.max_attempts), 0)
      + coalesce(octet_length('"schema_version":,' || r.schema_version), 0)
      + coalesce(octet_length('"delay_ms":,' || r.delay_ms), 0)
      + coalesce(octet_length('"timeout_ms":,' || r.timeout_ms), 0)
      + coalesce(octet_length('"retention_ms":,' || r.retention_ms), 0)
      + coalesce(octet_length('"headers":,' || r.headers::text), 0))
  into v_jobs, kinds, v_fault, v_length
  from (
    select j.kind as kind_json, j.queue as queue_json, j.payload, j.payload_base64, j.partition_key,
      j.rate_class, j.priority, j.max_attempts, j.schema_version, j.delay_ms, j.timeout_ms, j.retention_ms,
      j.headers, j.kind #>> '{}' as kind, coalesce(nullif(j.queue #>> '{}', ''), 'default') as queue,
      case
        when j.payload is not null then convert_to(j.payload::text, 'UTF8')
        when j.payload_base64 is not null then decode(j.payload_base64 #>> '{}', 'base64')
        else '{}'::bytea
      end as content
    from json_to_recordset(list) as j(
      kind json, payload json, payload_base64 json, queue json, partition_key json, rate_class json,
      priority integer, max_attempts integer, schema_version integer, delay_ms bigint, timeout_ms bigint,
      retention_ms bigint, headers json)
    offset 0) r;
  -- A match costs more than all the rest, and kinds are few.
  kinds := array(select distinct k from unnest(kinds) k);
  if v_fault or exists (select from unnest(kinds) k
    where octet_length(k) > 128 or k !~ '^[A-Za-z0-9_][][A-Za-z0-9_<>/.:+-]*$') then
    return;
  end if;
  -- Spaces, escapes, and what was not read can only make a text longer. Where it is as long as what was read,
  -- there is no unknown field in it, and there is no need to read all of it again to find one.
  if v_length is distinct from octet_length(list::text) and exists (
    select from jsonb_array_elements(list::jsonb) o
    where o - :SCHEMA.simple_fields() <> '{}' or o -> 'payload' = 'null') then
    return;
  end if;
  jobs := v_jobs;
exception when data_exception or invalid_parameter_value then
  jobs := null;
end;
$$;
comment on function :SCHEMA.read_simple_jobs is
  'The jobs of a list and their kinds, where all have only simple_fields and none is at fault; else null.';
revoke all on function :SCHEMA.read_simple_jobs from public;
