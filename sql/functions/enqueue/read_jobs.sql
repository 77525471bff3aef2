create or replace function :SCHEMA.read_jobs(jobs json)
returns :SCHEMA.job_input[]
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_jobs :SCHEMA.job_input[];
begin
  if json_typeof(jobs) is distinct from 'array' then
    perform :SCHEMA.raise_invalid('jobs', 'must be a list of jobs', '1..10000 objects');
  end if;
  select array_agg(cast(row(
      r.ord, r.id, r.kind, coalesce(r.schema_version, 1),
      case
        when r.payload_base64 is not null then decode(r.payload_base64, 'base64')
        when r.payload is not null then convert_to(r.payload::text, 'UTF8')
        when r.o ? 'payload' then 'null'::bytea
        else '{}'::bytea
      end,
      coalesce(nullif(r.queue, ''), 'default'), coalesce(r.partition_key, ''),
      case
        when json_typeof(r.rate_classes) = 'array' then
          (select array_agg(distinct c) from json_array_elements_text(r.rate_classes) c)
        when r.rate_class <> '' then array[r.rate_class]
      end,
      coalesce(r.weight, 1), r.fingerprint, coalesce(r.priority, 0), coalesce(r.max_attempts, 25),
      r.scheduled_at_ms, r.delay_ms, nullif(r.timeout_ms, 0), nullif(r.deadline_ms, 0),
        nullif(r.retention_ms, 0),
      case
        when r.unique_key is null and r.unique_key_base64 is null then null
        else :SCHEMA.scoped_unique_key(r.kind,
          coalesce(decode(r.unique_key_base64, 'base64'), convert_to(r.unique_key, 'UTF8')), r.unique_scope)
      end,
      nullif(r.unique_window_ms, 0),
      case when json_typeof(r.unique_replace) = 'array' then
        (select array_agg(f) from json_array_elements_text(r.unique_replace) f) end,
      nullif(r.unique_debounce_ms, 0),
      nullif(r.headers::jsonb, '{}'),
      case when json_typeof(r.tags) = 'array' then
        (select array_agg(t order by t collate "C") from json_array_elements_text(r.tags) t) end,
      coalesce(r.pending, false), coalesce(r.sticky_worker, ''), r.periodic_schedule_id, r.periodic_tick_ms,
      case
        when r.o - :SCHEMA.job_fields() <> '{}' then
          (select translate(left(k, 100), '|', '/')
            from jsonb_object_keys(r.o - :SCHEMA.job_fields()) k limit 1)
          || '|is not a field of a job|the fields are listed at enqueue_many'
        when r.payload_base64 is not null and r.payload is not null then
          'payload_base64|stands beside payload|one of the two'
        when r.unique_key is not null and r.unique_key_base64 is not null then
          'unique_key_base64|stands beside unique_key|one of the two'
        when octet_length(r.unique_key) > 1024 or octet_length(decode(r.unique_key_base64, 'base64')) > 1024
          then
          'unique_key|is too long|at most 1024 bytes'
        when r.rate_class <> '' and r.rate_classes is not null then
          'rate_class|stands beside rate_classes|one of the two'
        when r.unique_scope not in ('kind', 'global') then 'unique_scope|is unknown|kind, global'
        when json_typeof(r.rate_classes) <> 'array' then 'rate_classes|must be a list|up to 4 names'
        when json_typeof(r.tags) <> 'array' then 'tags|must be a list|up to 32 tags'
        when json_typeof(r.headers) <> 'object' then 'headers|must be an object|up to 128 entries'
        when json_typeof(r.unique_replace) <> 'array' then
          'unique_replace|must be a list|payload, scheduled_at, priority, max_attempts'
        when r.scheduled_at_ms is not null and r.delay_ms is not null then
          'delay_ms|stands beside scheduled_at_ms|one of the two'
        when r.unique_key is null and r.unique_key_base64 is null and r.unique_window_ms > 0 then
          'unique_window_ms|needs a unique_key|a unique_key'
        -- A list or an object is taken for a text by its text: where that begins like one, ask.
        when ascii(r.queue) in (91, 123) or ascii(r.partition_key) in (91, 123) or ascii(r.id) in (91, 123)
          or ascii(r.rate_class) in (91, 123) or ascii(r.unique_key) in (91, 123)
          or ascii(r.fingerprint) in (91, 123) or ascii(r.sticky_worker) in (91, 123)
          or ascii(r.periodic_schedule_id) in (91, 123)
          or r.tags::text ~ '[[{].*[[{]' or r.rate_classes::text ~ '[[{].*[[{]'
        then
          :SCHEMA.nested_member(r.o, '{queue,partition_key,id,rate_class,unique_key,fingerprint,'
            'sticky_worker,periodic_schedule_id}', '{tags,rate_classes}') || '|holds a list or an object|text'
      end,
      null
    ) as :SCHEMA.job_input) order by r.ord)
  into v_jobs
  from rows from (
    json_to_recordset(jobs) as (
      id text, kind text, schema_version integer, payload json, payload_base64 text, queue text,
        partition_key text,
      rate_class text, rate_classes json, weight integer, fingerprint text, priority integer,
        max_attempts integer,
      scheduled_at_ms bigint, delay_ms bigint, timeout_ms bigint, deadline_ms bigint, retention_ms bigint,
      unique_key text, unique_key_base64 text, unique_window_ms bigint, unique_scope text,
        unique_replace json,
      unique_debounce_ms bigint, headers json, tags json, pending boolean, sticky_worker text,
      periodic_schedule_id text, periodic_tick_ms bigint),
    jsonb_array_elements(jobs::jsonb)
  ) with ordinality as r(
    id, kind, schema_version, payload, payload_base64, queue, partition_key, rate_class, rate_classes, weight,
    fingerprint, priority, max_attempts, scheduled_at_ms, delay_ms, timeout_ms, deadline_ms, retention_ms,
      unique_key,
    unique_key_base64, unique_window_ms, unique_scope, unique_replace, unique_debounce_ms, headers, tags,
      pending,
    sticky_worker, periodic_schedule_id, periodic_tick_ms, o, ord);
  return v_jobs;
exception when data_exception or invalid_parameter_value then
  -- A value of a wrong type: find out which, and say so.
  perform :SCHEMA.raise_unreadable_job(jobs, sqlerrm);
end;
$$;
comment on function :SCHEMA.read_jobs is
  'The JSON of enqueue_many as rows with the defaults filled in. Values that can''t be read raise HR007; '
  'what is readable but not allowed stands in fault.';
revoke all on function :SCHEMA.read_jobs from public;
