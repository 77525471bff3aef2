create or replace function :SCHEMA.retire_lanes(max_rows integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_lane :SCHEMA.lane;
  v_empty boolean;
  v_gone bigint := 0;
begin
  for v_lane in
    select l.* from :SCHEMA.lane l
    where l.checked_at_ms < v_now - 600000
    order by l.checked_at_ms
    limit max_rows
    for update skip locked
  loop
    v_empty := not exists (
      select from :SCHEMA.job j
      where j.queue = v_lane.queue and j.partition_key = v_lane.partition_key and j.sticky_worker = v_lane.sticky_worker
        and j.class_key = v_lane.class_key and j.priority = v_lane.priority and j.stage = 1 and j.state = 'available'
        and (j.scheduled_at_ms, j.key) >= (v_lane.from_ms, v_lane.from_key))
      and not exists (
        select from :SCHEMA.lane_return r
        where r.queue = v_lane.queue and r.partition_key = v_lane.partition_key
          and r.sticky_worker = v_lane.sticky_worker and r.class_key = v_lane.class_key and r.priority = v_lane.priority);
    if exists (
      select from :SCHEMA.lane o
      where o.queue = v_lane.queue and o.partition_key = v_lane.partition_key
        and o.sticky_worker = v_lane.sticky_worker and o.class_key = v_lane.class_key and o.priority = v_lane.priority and o.no < v_lane.no and not o.dying)
    then
      delete from :SCHEMA.lane l where l.no = v_lane.no;
      v_gone := v_gone + 1;
      continue;
    end if;
    -- A producer that begins after the mark was seen adds a line of its own; once the older ones have ended, an empty line
    -- stays empty. So: mark, stamp at the next visit, remove at the one after.
    if v_lane.dying and v_lane.retire_stamp is not null and v_empty then
      if pg_snapshot_xmin(pg_current_snapshot()) >= v_lane.retire_stamp then
        delete from :SCHEMA.lane l where l.no = v_lane.no;
        delete from :SCHEMA.lane_return r
        where r.queue = v_lane.queue and r.partition_key = v_lane.partition_key
          and r.sticky_worker = v_lane.sticky_worker and r.class_key = v_lane.class_key and r.priority = v_lane.priority
          and not exists (
            select from :SCHEMA.lane o
            where o.queue = v_lane.queue and o.partition_key = v_lane.partition_key
              and o.sticky_worker = v_lane.sticky_worker and o.class_key = v_lane.class_key and o.priority = v_lane.priority);
        v_gone := v_gone + 1;
      end if;
    else
      update :SCHEMA.lane l
      set dying = v_empty,
        retire_stamp = case when v_empty and v_lane.dying then pg_snapshot_xmax(pg_current_snapshot()) end,
        checked_at_ms = v_now
      where l.no = v_lane.no;
    end if;
  end loop;
  return v_gone;
end;
$$;
comment on function :SCHEMA.retire_lanes is 'Removes lines that have stayed empty over three visits, ten minutes apart, and second rows of a line. Returns how many.';
revoke all on function :SCHEMA.retire_lanes from public;
