create or replace function :SCHEMA.due_schedules(max_rows integer default 50)
returns setof :SCHEMA.schedule_summary
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_now bigint := :SCHEMA.now_ms();
begin
  perform :SCHEMA.check_max_rows(max_rows, 10000);
  return query
    select r.*
    from (
      select s from :SCHEMA.schedule s
      where not s.paused and greatest(s.next_run_ms, s.retry_at_ms) <= v_now
      order by greatest(s.next_run_ms, s.retry_at_ms)
      limit max_rows) d
    cross join lateral :SCHEMA.summarize_schedule(d.s, true) r;
end;
$$;
comment on function :SCHEMA.due_schedules is
  'Schedules whose next tick has come, the longest due first, with the store''s clock in store_now_ms. Only '
  'for schedulers of your own, together with advance_schedule: tick_schedules does all of it. Errors: HR007.';
revoke all on function :SCHEMA.due_schedules from public;
