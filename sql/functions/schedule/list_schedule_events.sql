create or replace function :SCHEMA.list_schedule_events(id text, before bigint default null,
  max_rows integer default 50)
returns table (
  event_id bigint, schedule_id text, tick_ms bigint, ticks bigint, job_id text, outcome text, reason text,
    detail text,
  recorded_at_ms bigint
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('id', list_schedule_events.id, 255);
  perform :SCHEMA.check_max_rows(max_rows, 100);
  return query
    select e.no, e.schedule_id, e.tick_ms, e.ticks, e.job_id, e.outcome, e.reason, e.detail, e.at_ms
    from :SCHEMA.schedule_event e
    where e.schedule_id = list_schedule_events.id and e.no < coalesce(list_schedule_events.before,
      9223372036854775807)
    order by e.no desc
    limit max_rows;
end;
$$;
comment on function :SCHEMA.list_schedule_events is
  'What became of the ticks of a schedule, newest first, also after it was deleted; before is the event_id '
  'to go on from, max_rows 1..100. ticks says how many ticks, or tries of one, an event stands for. Errors: '
  'HR007.';
revoke all on function :SCHEMA.list_schedule_events from public;
