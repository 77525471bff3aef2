create or replace function :SCHEMA.apply_operation(action text, keys bigint[])
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
  case apply_operation.action
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
comment on function :SCHEMA.apply_operation is
  'Does to jobs, which the caller has locked, what a bulk operation asks for. Returns how many were moved.';
revoke all on function :SCHEMA.apply_operation from public;
