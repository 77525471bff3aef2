create or replace function :SCHEMA.give_up_tick(
  schedule :SCHEMA.schedule, rule :SCHEMA.schedule_rule, reason text, error text, at_ms bigint
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_retry boolean := reason <> 'invalid_request';
  v_missed bigint := 0;
begin
  if not v_retry then
    v_missed := :SCHEMA.count_ticks(rule, schedule.next_run_ms - 1, at_ms);
  end if;
  perform :SCHEMA.note_missed(schedule.id, schedule.next_run_ms, greatest(v_missed, 1), 'failed', reason,
    error);
  update :SCHEMA.schedule s
  set next_run_ms = case when v_retry then s.next_run_ms else :SCHEMA.next_instant(rule, at_ms) end,
    missed_ticks = s.missed_ticks + v_missed,
    failures = case when v_retry then least(s.failures, 1000) + 1 else 0 end,
    retry_at_ms = case when v_retry then at_ms + least(60000, 1000 << least(s.failures, 6)) else 0 end,
    last_error = :SCHEMA.cut_text(give_up_tick.reason || ': ' || give_up_tick.error, 2048)
  where s.id = schedule.id;
end;
$$;
comment on function :SCHEMA.give_up_tick is
  'Records why a schedule, which the caller has locked, could not fire. A job that enqueue refuses as '
  'invalid uses its ticks up; a spec that can''t be read and other errors are tried again, after a minute at '
  'the latest.';
revoke all on function :SCHEMA.give_up_tick from public;
