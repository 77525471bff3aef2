create or replace function :SCHEMA.summarize_schedule(schedule :SCHEMA.schedule, include_payload boolean)
returns :SCHEMA.schedule_summary
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select cast(row(schedule.id, schedule.spec, schedule.on_missed, schedule.backfill_limit, schedule.grace_ms,
    schedule.paused, schedule.next_run_ms, schedule.last_enqueued_ms, schedule.missed_ticks,
      schedule.failures,
    schedule.retry_at_ms, schedule.last_error, schedule.kind, case when include_payload
      then schedule.payload end,
    schedule.schema_version, schedule.queue, schedule.partition_key, schedule.rate_classes, schedule.priority,
    schedule.weight, schedule.max_attempts, schedule.timeout_ms, schedule.retention_ms,
    case when include_payload then schedule.headers end, schedule.tags, schedule.sticky_worker,
      :SCHEMA.now_ms())
    as :SCHEMA.schedule_summary);
$$;
comment on function :SCHEMA.summarize_schedule is
  'A schedule as it is shown; payload and headers only where they are asked for.';
revoke all on function :SCHEMA.summarize_schedule from public;
