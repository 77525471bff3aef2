create or replace function :SCHEMA.due_ticks(schedule :SCHEMA.schedule, rule :SCHEMA.schedule_rule,
  at_ms bigint)
returns bigint[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  c_most integer := 1000;
  v_late_ms bigint := at_ms - schedule.grace_ms;
begin
  if schedule.next_run_ms > v_late_ms then
    return :SCHEMA.first_ticks(rule, schedule.next_run_ms - 1, at_ms, c_most);
  end if;
  return case schedule.on_missed
    when 'skip' then :SCHEMA.first_ticks(rule, v_late_ms, at_ms, c_most)
    when 'run_once' then :SCHEMA.newest_ticks(rule, schedule.next_run_ms - 1, at_ms, 1)
    else :SCHEMA.newest_ticks(rule, schedule.next_run_ms - 1, at_ms, greatest(schedule.backfill_limit, 1))
  end;
end;
$$;
comment on function :SCHEMA.due_ticks is
  'The ticks that a schedule fires now, oldest first: all that have come since its next_run_ms, or, where '
  'one of them is grace_ms late or later, those that on_missed leaves of them. At most 1000; the others have '
  'their turn the next time.';
revoke all on function :SCHEMA.due_ticks from public;
