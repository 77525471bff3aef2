create or replace function :SCHEMA.advance_lane(lane_no bigint, last_ms bigint, last_key bigint, at_ms bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_lane :SCHEMA.lane;
  v_start_ms bigint;
  v_start_key bigint;
  v_first_ms bigint;
  v_first_key bigint;
begin
  select * into v_lane from :SCHEMA.lane l where l.no = lane_no for update skip locked;
  -- mid was there to be read by every transaction numbered from stamp on, and such a one reports a job that
  -- it puts before it (open_lanes). Once the older ones have ended, what is seen before mid is all there is.
  if not found or pg_snapshot_xmin(pg_current_snapshot()) < v_lane.stamp then
    return;
  end if;

  with gone as (
    delete from :SCHEMA.lane_return r
    where r.queue = v_lane.queue and r.partition_key = v_lane.partition_key
      and r.sticky_worker = v_lane.sticky_worker
      and r.class_key = v_lane.class_key and r.priority = v_lane.priority
    returning r.at_ms, r.key
  )
  select s.at_ms, s.key into v_start_ms, v_start_key
  from (select v_lane.from_ms as at_ms, v_lane.from_key as key union all select g.at_ms, g.key from gone g) s
  order by s.at_ms, s.key
  limit 1;

  -- A job under an unfinished claim counts as available here: the claim may yet be rolled back.
  select j.scheduled_at_ms, j.key into v_first_ms, v_first_key
  from :SCHEMA.job j
  where j.queue = v_lane.queue and j.line = v_lane.line and j.partition_key = v_lane.partition_key
    and j.sticky_worker = v_lane.sticky_worker
    and j.class_key = v_lane.class_key and j.priority = v_lane.priority and j.stage = 1
    and (j.scheduled_at_ms, j.key) >= (v_start_ms, v_start_key)
    and j.state = 'available'
  order by j.scheduled_at_ms, j.key
  limit 1;

  if (v_first_ms, v_first_key) < (v_lane.mid_ms, v_lane.mid_key) then
    v_lane.from_ms := v_first_ms;
    v_lane.from_key := v_first_key;
  else
    v_lane.from_ms := v_lane.mid_ms;
    v_lane.from_key := v_lane.mid_key;
  end if;
  update :SCHEMA.lane l
  set from_ms = v_lane.from_ms,
    from_key = v_lane.from_key,
    mid_ms = v_lane.tip_ms,
    mid_key = v_lane.tip_key,
    tip_ms = case when (last_ms, last_key) > (l.tip_ms, l.tip_key) then last_ms else l.tip_ms end,
    tip_key = case when (last_ms, last_key) > (l.tip_ms, l.tip_key) then last_key else l.tip_key end,
    stamp = :SCHEMA.fresh_stamp(),
    moved_at_ms = advance_lane.at_ms
  where l.no = v_lane.no;
end;
$$;
comment on function :SCHEMA.advance_lane is
  'Moves the place where the gate starts in a line past jobs that were claimed, so that their remains are '
  'never walked again. A position becomes tip when it is reached, mid at the next move, and from at the one '
  'after, when nothing can still appear before it. Skips a line that another claim is moving.';
revoke all on function :SCHEMA.advance_lane from public;
