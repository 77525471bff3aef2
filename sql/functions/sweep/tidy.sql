create or replace function :SCHEMA.tidy(what text, max_rows integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_now bigint := :SCHEMA.now_ms();
  v_day bigint := 86400000;
  v_gone bigint;
begin
  case tidy.what
    when 'throttle' then
      delete from :SCHEMA.throttle t where t.unique_key = any (array(
        select o.unique_key from :SCHEMA.throttle o where o.expires_at_ms <= v_now
        order by o.expires_at_ms limit max_rows for update skip locked));
    when 'effect' then
      delete from :SCHEMA.effect e where e.effect_key = any (array(
        select o.effect_key from :SCHEMA.effect o where o.at_ms < v_now - 30 * v_day
        order by o.at_ms limit max_rows for update skip locked));
    when 'queue_minute' then
      delete from :SCHEMA.queue_minute m where (m.queue, m.minute_ms) in (
        select o.queue, o.minute_ms from :SCHEMA.queue_minute o where o.minute_ms < v_now - 30 * v_day
        order by o.minute_ms limit max_rows for update skip locked);
    when 'attempt' then
      return :SCHEMA.tidy_attempts(max_rows);
    when 'open_run' then
      delete from :SCHEMA.attempt a where a.no = any (array(
        select o.no from :SCHEMA.attempt o
        where o.finished_at_ms is null and o.fence is null and o.started_at_ms < v_now - 30 * v_day
        limit max_rows for update skip locked));
    when 'run_lease' then
      delete from :SCHEMA.run_lease r where r.lease_id = any (array(
        select o.lease_id from :SCHEMA.run_lease o where o.expires_at_ms < v_now - v_day
        order by o.expires_at_ms limit max_rows for update skip locked));
    when 'enqueue_window' then
      delete from :SCHEMA.enqueue_window w where (w.task_name, w.no) in (
        select o.task_name, o.no from :SCHEMA.enqueue_window o where o.at_ms < v_now - 60000
        limit max_rows for update skip locked);
    when 'worker' then
      delete from :SCHEMA.worker w where w.worker_id = any (array(
        select o.worker_id from :SCHEMA.worker o where o.heartbeat_at_ms < v_now - v_day
        order by o.heartbeat_at_ms limit max_rows for update skip locked));
    when 'operation' then
      delete from :SCHEMA.operation p where p.operation_id = any (array(
        select o.operation_id from :SCHEMA.operation o
        where o.created_at_ms < v_now - 30 * v_day and o.finished_at_ms is not null
        order by o.created_at_ms limit max_rows for update skip locked));
    when 'job_archive' then
      delete from :SCHEMA.job_archive a where (a.evicted_at_ms, a.key) in (
        select o.evicted_at_ms, o.key from :SCHEMA.job_archive o
        where o.expires_at_ms <= v_now
        order by o.expires_at_ms limit max_rows for update skip locked);
    when 'duty' then
      delete from :SCHEMA.duty d where d.name = any (array(
        select o.name from :SCHEMA.duty o where o.expires_at_ms < v_now - 30 * v_day limit max_rows for update
          skip locked));
    when 'sweep_error' then
      delete from :SCHEMA.sweep_error e where (e.sweep, e.subject) in (
        select o.sweep, o.subject from :SCHEMA.sweep_error o
        where o.at_ms < v_now - 30 * v_day limit max_rows for update skip locked);
    when 'schedule_event' then
      delete from :SCHEMA.schedule_event e where e.no = any (array(
        select o.no from :SCHEMA.schedule_event o where o.gone_at_ms < v_now - 30 * v_day
        order by o.gone_at_ms limit max_rows for update skip locked));
    when 'sleeper' then
      delete from :SCHEMA.sleeper s where s.worker = any (array(
        select o.worker from :SCHEMA.sleeper o where o.until_ms < v_now - 60000
        limit max_rows for update skip locked));
    when 'queue' then
      return :SCHEMA.retire_queues(max_rows);
    when 'lane' then
      return :SCHEMA.retire_lanes(max_rows);
  end case;
  get diagnostics v_gone = row_count;
  return v_gone;
end;
$$;
comment on function :SCHEMA.tidy is
  'Removes what has outlived its horizon from one table, at most max_rows. Returns how much it was.';
revoke all on function :SCHEMA.tidy from public;
