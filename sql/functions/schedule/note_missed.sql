create or replace function :SCHEMA.note_missed(
  schedule_id text, tick_ms bigint, ticks bigint, outcome text, reason text, detail text default null
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  -- The same trouble is told once a minute, so that it does not push the useful events out.
  update :SCHEMA.schedule_event e
  set ticks = e.ticks + note_missed.ticks, detail = :SCHEMA.cut_text(note_missed.detail, 512)
  where e.no = (
    select o.no
    from (
      select n.no, n.outcome, n.reason, n.at_ms from :SCHEMA.schedule_event n
      where n.schedule_id = note_missed.schedule_id
      order by n.no desc
      limit 20) o
    where o.outcome = note_missed.outcome and o.reason = note_missed.reason
      and o.at_ms > :SCHEMA.now_ms() - 60000
    limit 1);
  if not found then
    perform :SCHEMA.note_schedule_event(note_missed.schedule_id, note_missed.tick_ms, note_missed.ticks, null,
      note_missed.outcome, note_missed.reason, note_missed.detail);
  end if;
end;
$$;
comment on function :SCHEMA.note_missed is
  'Notes that ticks came to no job, or a try at one: in the event that says the same and is less than a '
  'minute old, else in a new one.';
revoke all on function :SCHEMA.note_missed from public;
