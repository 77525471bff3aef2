create or replace function :SCHEMA.retire_lane(lane_no bigint, at_ms bigint)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_lane :SCHEMA.lane;
  v_settled boolean;
  v_empty boolean;
begin
  select * into v_lane from :SCHEMA.lane l where l.no = lane_no for update skip locked;
  if not found then
    return false;
  end if;
  -- Asked first: what the statements behind it see of the transactions that had ended is then complete.
  v_settled := pg_snapshot_xmin(pg_current_snapshot()) >= v_lane.retire_stamp;
  v_empty := not exists (
      select from :SCHEMA.job j
      where j.queue = v_lane.queue and j.partition_key = v_lane.partition_key and j.sticky_worker = v_lane.sticky_worker
        and j.class_key = v_lane.class_key and j.priority = v_lane.priority and j.stage = 1 and j.state = 'available'
        and (j.scheduled_at_ms, j.key) >= (v_lane.from_ms, v_lane.from_key))
    and not exists (
      select from :SCHEMA.lane_return r
      where r.queue = v_lane.queue and r.partition_key = v_lane.partition_key and r.sticky_worker = v_lane.sticky_worker
        and r.class_key = v_lane.class_key and r.priority = v_lane.priority);
  if exists (
    select from :SCHEMA.lane o
    where o.queue = v_lane.queue and o.partition_key = v_lane.partition_key and o.sticky_worker = v_lane.sticky_worker
      and o.class_key = v_lane.class_key and o.priority = v_lane.priority and o.no < v_lane.no and not o.dying)
    or v_empty and v_lane.dying and v_settled
  then
    delete from :SCHEMA.lane l where l.no = v_lane.no;
    return true;
  end if;
  -- A producer that begins after the mark is there to be seen adds a line of its own, so once the older ones have ended an
  -- empty line stays empty: mark it, stamp it at the next visit, remove it at a later one.
  if not (v_empty and v_lane.dying and v_lane.retire_stamp is not null) then
    update :SCHEMA.lane l
    set dying = v_empty,
      retire_stamp = case when v_empty and v_lane.dying then pg_snapshot_xmax(pg_current_snapshot()) end,
      checked_at_ms = retire_lane.at_ms
    where l.no = v_lane.no;
  end if;
  return false;
end;
$$;
comment on function :SCHEMA.retire_lane is
  'Takes an empty line one step nearer to its removal, or a second row of a line away. True when the row is gone.';
revoke all on function :SCHEMA.retire_lane from public;
