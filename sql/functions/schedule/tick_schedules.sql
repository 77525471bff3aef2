create or replace function :SCHEMA.tick_schedules(max_rows integer default 50)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set lock_timeout = '2s'
as $$
declare
  v_schedule :SCHEMA.schedule;
  v_rule :SCHEMA.schedule_rule;
  v_now bigint := :SCHEMA.now_ms();
  v_due :SCHEMA.schedule[];
  v_reason text;
  v_busy_queue text;
  v_fired bigint := 0;
begin
  perform :SCHEMA.check_max_rows(max_rows);
  v_due := array(
    select s from :SCHEMA.schedule s
    where not s.paused and greatest(s.next_run_ms, s.retry_at_ms) <= v_now
    order by greatest(s.next_run_ms, s.retry_at_ms)
    limit max_rows
    for update skip locked);
  v_now := :SCHEMA.now_ms();
  -- By queue, because enqueue locks queues that have a limit, and everybody does so in this order.
  for v_schedule in select * from unnest(v_due) d order by d.queue, d.id loop
    continue when v_schedule.queue = v_busy_queue;
    v_reason := 'invalid_spec';
    begin
      v_rule := :SCHEMA.read_spec(v_schedule.spec);
      v_reason := 'invalid_request';
      v_fired := v_fired + :SCHEMA.fire_schedule(v_schedule, v_rule, v_now);
    exception
      when sqlstate 'HR007' then
        perform :SCHEMA.give_up_tick(v_schedule, v_rule, v_reason, sqlerrm, v_now);
      when others then
        -- Who waits for a queue's lock in vain once must not do so again for each schedule of that queue.
        v_busy_queue := case when sqlstate = '55P03' then v_schedule.queue end;
        perform :SCHEMA.give_up_tick(v_schedule, v_rule, 'store_error', sqlstate || ' ' || sqlerrm, v_now);
    end;
  end loop;
  return v_fired;
end;
$$;
comment on function :SCHEMA.tick_schedules is
  'Fires the ticks that have come: for each due schedule it enqueues the jobs, records the events and moves '
  'the next tick, all in one transaction, so a tick is fired once however many call this. What is wrong with '
  'a schedule is told by its events and holds up no other. Returns the number of jobs. run_duties calls it. '
  'Errors: HR007.';
revoke all on function :SCHEMA.tick_schedules from public;
