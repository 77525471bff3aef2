create or replace function :SCHEMA.note_schedule_event(
  schedule_id text, tick_ms bigint, ticks bigint, job_id text, outcome text, reason text, detail text
)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_gone_at_ms bigint := case when not exists (
    select from :SCHEMA.schedule s where s.id = note_schedule_event.schedule_id) then v_now end;
  v_no bigint;
begin
  insert into :SCHEMA.schedule_event (schedule_id, tick_ms, ticks, job_id, outcome, reason, detail, at_ms,
    gone_at_ms)
  values (note_schedule_event.schedule_id, note_schedule_event.tick_ms, note_schedule_event.ticks,
    note_schedule_event.job_id, note_schedule_event.outcome, note_schedule_event.reason,
    :SCHEMA.cut_text(note_schedule_event.detail, 512), v_now, v_gone_at_ms)
  returning no into v_no;
  delete from :SCHEMA.schedule_event e
  where e.schedule_id = note_schedule_event.schedule_id
    and e.no <= (
      select o.no from :SCHEMA.schedule_event o
      where o.schedule_id = note_schedule_event.schedule_id
      order by o.no desc offset 100 limit 1);
  return v_no;
end;
$$;
comment on function :SCHEMA.note_schedule_event is
  'Appends to the history of a schedule and keeps the newest 100 events. Returns the event''s number.';
revoke all on function :SCHEMA.note_schedule_event from public;
