create or replace function :SCHEMA.fire_schedule(schedule :SCHEMA.schedule, rule :SCHEMA.schedule_rule,
  at_ms bigint)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ticks bigint[] := :SCHEMA.due_ticks(schedule, rule, at_ms);
  v_job jsonb := :SCHEMA.schedule_job(schedule);
  v_missed bigint := :SCHEMA.count_ticks(rule, schedule.next_run_ms - 1, coalesce(v_ticks[1] - 1, at_ms));
  v_handled_ms bigint := coalesce(v_ticks[1] - 1, at_ms);
  v_tick_ms bigint;
  v_placed record;
  v_fired bigint := 0;
  v_blocked boolean := false;
  v_error text;
begin
  if v_missed > 0 then
    perform :SCHEMA.note_missed(schedule.id, schedule.next_run_ms, v_missed, 'skipped', 'missed');
  end if;
  foreach v_tick_ms in array v_ticks loop
    select e.* into v_placed
    from :SCHEMA.enqueue_many(json_build_array(v_job || jsonb_build_object(
      'id', :SCHEMA.tick_job_id(schedule.id, v_tick_ms),
      'periodic_schedule_id', schedule.id, 'periodic_tick_ms', v_tick_ms)), 'report') e;
    if v_placed.disposition = 'inserted' then
      perform :SCHEMA.note_schedule_event(schedule.id, v_tick_ms, 1, v_placed.id, 'enqueued', 'accepted',
        null);
      v_fired := v_fired + 1;
      v_error := null;
    elsif v_placed.disposition = 'replayed' then
      perform :SCHEMA.note_schedule_event(schedule.id, v_tick_ms, 1, v_placed.id, 'deduplicated', 'replayed',
        null);
    else
      v_blocked := v_placed.disposition = 'backpressure';
      v_error := v_placed.disposition;
      perform :SCHEMA.note_missed(schedule.id, v_tick_ms, 1,
        case when v_placed.disposition = 'quarantined' then 'skipped' else 'failed' end, v_placed.disposition,
        v_placed.detail::text);
      exit when v_blocked;
      v_missed := v_missed + 1;
    end if;
    v_handled_ms := v_tick_ms;
  end loop;
  update :SCHEMA.schedule s
  set next_run_ms = :SCHEMA.next_instant(rule, v_handled_ms),
    last_enqueued_ms = case when v_fired > 0 then at_ms else s.last_enqueued_ms end,
    missed_ticks = s.missed_ticks + v_missed,
    failures = case when v_blocked then least(s.failures, 1000) + 1 else 0 end,
    retry_at_ms = case when v_blocked then at_ms + least(30000, 1000 << least(s.failures, 5)) else 0 end,
    last_error = coalesce(v_error, case when v_fired = 0 then s.last_error end)
  where s.id = schedule.id;
  return v_fired;
end;
$$;
comment on function :SCHEMA.fire_schedule is
  'Enqueues the due ticks of a schedule, which the caller has locked, records them and moves its next tick. '
  'A full queue leaves the tick to be tried again; other refusals use it up. Returns the number of jobs.';
revoke all on function :SCHEMA.fire_schedule from public;
