create or replace function :SCHEMA.schedule_job(schedule :SCHEMA.schedule)
returns jsonb
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_strip_nulls(jsonb_build_object(
      'kind', schedule.kind,
      'payload_base64', translate(encode(schedule.payload, 'base64'), E'\n', ''),
      'schema_version', schedule.schema_version, 'queue', schedule.queue, 'partition_key',
        schedule.partition_key,
      'rate_classes', schedule.rate_classes, 'priority', schedule.priority, 'weight', schedule.weight,
      'max_attempts', schedule.max_attempts, 'timeout_ms', schedule.timeout_ms, 'retention_ms',
        schedule.retention_ms,
      'tags', schedule.tags, 'sticky_worker', schedule.sticky_worker))
    || jsonb_build_object('headers', schedule.headers);
$$;
comment on function :SCHEMA.schedule_job is 'The job of a schedule in the form that enqueue_many reads.';
revoke all on function :SCHEMA.schedule_job from public;
