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
  v_oldest xid8;
  v_returns bigint[];
  v_return_ms bigint;
  v_empty boolean;
  v_mark xid8;
  v_retire xid8;
begin
  select * into v_lane from :SCHEMA.lane l where l.no = lane_no for update skip locked;
  if not found or current_setting('transaction_isolation') <> 'read committed' then
    return false;
  end if;
  -- Asked first: what the statements behind it see of the transactions that had ended is then complete.
  v_oldest := pg_snapshot_xmin(pg_current_snapshot());
  select array_agg(r.no), min(r.at_ms) into v_returns, v_return_ms
  from :SCHEMA.lane_return r
  where r.queue = v_lane.queue and r.partition_key = v_lane.partition_key
    and r.sticky_worker = v_lane.sticky_worker
    and r.class_key = v_lane.class_key and r.priority = v_lane.priority;
  v_empty := not exists (
    select from :SCHEMA.job j
    where j.queue = v_lane.queue and j.line = v_lane.line and j.partition_key = v_lane.partition_key
      and j.sticky_worker = v_lane.sticky_worker
      and j.class_key = v_lane.class_key and j.priority = v_lane.priority and j.stage = 1
      and j.state = 'available'
      and (j.scheduled_at_ms, j.key) >= (least(v_return_ms, v_lane.from_ms),
        case when v_return_ms <= v_lane.from_ms then -1 else v_lane.from_key end));
  if exists (
    select from :SCHEMA.lane o
    where o.queue = v_lane.queue and o.partition_key = v_lane.partition_key
      and o.sticky_worker = v_lane.sticky_worker
      and o.class_key = v_lane.class_key and o.priority = v_lane.priority and o.no < v_lane.no
      and not o.dying)
    or v_empty and v_lane.dying and v_oldest >= v_lane.retire_stamp
  then
    delete from :SCHEMA.lane l where l.no = v_lane.no;
    delete from :SCHEMA.partition p
    where p.queue = v_lane.queue and p.partition_key = v_lane.partition_key and not exists (
      select from :SCHEMA.lane o where o.queue = v_lane.queue and o.partition_key = v_lane.partition_key);
    return true;
  end if;
  -- A producer that begins after the mark is there to be seen adds a line of its own, so once the older ones
  -- have ended an empty line stays empty: mark it, stamp it once the mark is there to be seen, remove it once
  -- all older ones have ended.
  if v_empty then
    delete from :SCHEMA.lane_return r where r.no = any (v_returns);
    v_mark := coalesce(v_lane.mark_stamp, :SCHEMA.fresh_stamp());
    if v_oldest >= v_lane.mark_stamp then
      v_retire := coalesce(v_lane.retire_stamp, :SCHEMA.fresh_stamp());
    end if;
  end if;
  update :SCHEMA.lane l
  set dying = v_empty, mark_stamp = v_mark, retire_stamp = v_retire, checked_at_ms = retire_lane.at_ms
  where l.no = v_lane.no
    and (l.mark_stamp is distinct from v_mark or l.retire_stamp is distinct from v_retire
      or l.checked_at_ms < retire_lane.at_ms - 600000);
  return false;
end;
$$;
comment on function :SCHEMA.retire_lane is
  'Takes an empty line one step nearer to its removal, or a second row of a line away. True when the row is '
  'gone.';
revoke all on function :SCHEMA.retire_lane from public;
