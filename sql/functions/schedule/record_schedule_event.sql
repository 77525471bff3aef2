create or replace function :SCHEMA.record_schedule_event(
  schedule_id text, tick_ms bigint, outcome text, job_id text default null, reason text default ''
)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform :SCHEMA.check_text('schedule_id', schedule_id, 255);
  perform :SCHEMA.check_range('tick_ms', tick_ms, 0, 315576000000000);
  if outcome is null or outcome not in ('enqueued', 'deduplicated', 'failed', 'skipped') then
    perform :SCHEMA.raise_invalid('outcome', 'is unknown', 'enqueued, deduplicated, failed, skipped');
  end if;
  perform :SCHEMA.check_text('job_id', coalesce(job_id, ''), 255, true);
  perform :SCHEMA.check_text('reason', coalesce(reason, ''), 64, true);
  perform from :SCHEMA.schedule s where s.id = schedule_id for update;
  return :SCHEMA.note_schedule_event(schedule_id, tick_ms, 1, nullif(job_id, ''), outcome,
    coalesce(reason, ''), null);
end;
$$;
comment on function :SCHEMA.record_schedule_event is
  'Appends an event to the history of a schedule, of which the newest 100 are kept, and returns its number. '
  'For schedulers of your own: tick_schedules records its events by itself. Errors: HR007.';
revoke all on function :SCHEMA.record_schedule_event from public;
