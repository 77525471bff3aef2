create or replace function :SCHEMA.place_simple_job(jobs json)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fields jsonb;
  v_job :SCHEMA.simple_input;
  v_payload bytea;
  v_queue text;
  v_at_ms bigint;
  v_special boolean;
  v_tasks boolean;
  v_key bigint;
begin
  begin
    v_fields := (jobs -> 0)::jsonb;
    if v_fields - :SCHEMA.simple_fields() <> '{}' then
      return null;
    end if;
    v_job := json_populate_record(v_job, jobs -> 0);
    v_payload := case
      when v_job.payload_base64 is not null then decode(v_job.payload_base64, 'base64')
      when v_job.payload is not null then convert_to(v_job.payload::text, 'UTF8')
      when v_fields ? 'payload' then 'null'::bytea
      else '{}'::bytea
    end;
  exception when data_exception or invalid_parameter_value then
    return null;
  end;
  -- As in first_fault. 1024 bytes of headers can't be too many.
  if v_job.kind is null or octet_length(v_job.kind) > 128
    or v_job.kind !~ '^[A-Za-z0-9_][][A-Za-z0-9_<>/.:+-]*$'
    or octet_length(v_payload) > 1048576 or v_job.payload is not null and v_job.payload_base64 is not null
    or octet_length(v_job.queue) > 255 or octet_length(v_job.partition_key) > 255
    or octet_length(v_job.rate_class) > 255 or v_job.schema_version < 1 or v_job.max_attempts < 1
    or v_job.delay_ms not between 0 and 315576000000000
    or v_job.timeout_ms not between 0 and 315576000000000
    or v_job.retention_ms not between 0 and 315576000000000
    or jsonb_typeof(v_job.headers) <> 'object' or octet_length(v_job.headers::text) > 1024
    or strpos(v_job.headers::text, 'headrace-') > 0
  then
    return null;
  end if;
  v_queue := coalesce(nullif(v_job.queue, ''), 'default');
  select exists (select from :SCHEMA.queue q where q.queue = v_queue and q.max_unfinished_jobs is not null)
      or (exists (select from :SCHEMA.quarantine) and exists (
        select from :SCHEMA.quarantine q where q.fingerprint = :SCHEMA.fingerprint(v_job.kind, v_payload))),
    exists (select from :SCHEMA.task_config) or exists (select from :SCHEMA.task_limit)
  into v_special, v_tasks;
  if v_special then
    return null;
  end if;

  v_at_ms := :SCHEMA.now_ms();
  insert into :SCHEMA.job (
    state, enqueued_at_ms, scheduled_at_ms, kind, payload, queue, partition_key, priority, max_attempts,
    schema_version, rate_classes, class_key, timeout_ms, retention_ms, headers, counted)
  values (
    case when v_job.delay_ms > 0 then :SCHEMA.job_state 'scheduled' else 'available' end, v_at_ms,
    v_at_ms + coalesce(v_job.delay_ms, 0), v_job.kind, v_payload, v_queue, coalesce(v_job.partition_key, ''),
    coalesce(v_job.priority, 0), coalesce(v_job.max_attempts, 25), coalesce(v_job.schema_version, 1),
    case when v_job.rate_class <> '' then array[v_job.rate_class] end,
    case when v_job.rate_class <> '' then :SCHEMA.class_key(array[v_job.rate_class]) else '' end,
    nullif(v_job.timeout_ms, 0), nullif(v_job.retention_ms, 0), nullif(v_job.headers, '{}'),
    case when v_tasks then nullif(v_job.kind = any (:SCHEMA.counted_kinds(array[v_job.kind])), false) end)
  returning key into v_key;
  insert into :SCHEMA.tally (queue, at_ms, arrived, depth) values (v_queue, v_at_ms, 1, 1);
  if v_job.delay_ms > 0 is not true then
    perform :SCHEMA.open_lanes(array[cast(row(v_queue, coalesce(v_job.partition_key, ''), '',
      case when v_job.rate_class <> '' then :SCHEMA.class_key(array[v_job.rate_class]) else '' end,
      coalesce(v_job.priority, 0), v_at_ms, v_key) as :SCHEMA.lane_entry)]);
  end if;
  return v_key;
end;
$$;
comment on function :SCHEMA.place_simple_job is
  'The short way of a list of one job that has only simple_fields: inserts it and returns its key. Null, '
  'with nothing written, where it is not so simple, at fault, or perhaps refused: enqueue_many finds out.';
revoke all on function :SCHEMA.place_simple_job from public;
