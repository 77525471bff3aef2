create or replace function :SCHEMA.move_jobs(move text, keys bigint[])
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_moved bigint := 0;
  v_lanes :SCHEMA.lane_entry[];
begin
  case move_jobs.move
    when 'reclaim_expired' then
      return (select count(*) from :SCHEMA.lose_leases(keys));
    when 'promote_due' then
      return :SCHEMA.promote_jobs(keys);
    when 'expire_deadlines' then
      return :SCHEMA.expire_jobs(keys);
    when 'quarantine_sweep' then
      return :SCHEMA.quarantine_jobs(keys);
    when 'evict_retained' then
      return :SCHEMA.evict_jobs(keys);
    when 'retry' then
      return :SCHEMA.retry_jobs(keys);
    when 'cancel' then
      return :SCHEMA.cancel_jobs(keys);
    when 'delete' then
      return :SCHEMA.remove_jobs(keys);
    when 'delete_queue' then
      perform :SCHEMA.cancel_jobs(array(
        select j.key from :SCHEMA.job j where j.key = any (keys) and j.state = 'running'));
      return :SCHEMA.remove_jobs(keys);
    when 'release' then
      return :SCHEMA.release_jobs(keys);
    when 'promote' then
      with moved as (
        update :SCHEMA.job j
        set state = 'available', scheduled_at_ms = :SCHEMA.now_ms()
        where j.key = any (keys) and j.state = 'pending'
        returning j.*
      )
      select count(*), :SCHEMA.lanes_for(array_agg(cast(m as :SCHEMA.job))) into v_moved, v_lanes
        from moved m;
      perform :SCHEMA.open_lanes(v_lanes);
      return v_moved;
  end case;
end;
$$;
comment on function :SCHEMA.move_jobs is
  'Does to jobs, which the caller has found and locked, what a sweep or a bulk operation is for. Returns how '
  'many were moved.';
revoke all on function :SCHEMA.move_jobs from public;
