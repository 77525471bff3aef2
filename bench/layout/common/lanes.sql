-- Shared by the contestants except rotation: the lanes and their remembered positions.
--
-- A lane is the ready order of one (queue, partition, priority). A claim starts at the lane's
-- position (from_at_ms, from_key) instead of at the beginning of the index, so that the dead
-- entries of the past are not walked again. The position can be wrong in one way: an enqueue that
-- commits late, or a claim that is rolled back, leaves an available row behind it. So there is a
-- second position, safe_*, before which nothing is available and nothing can still appear, and
-- at intervals the stretch between the two is searched.
--
-- Each contestant provides first_available(queue, partition, priority, after, upto).

create type place as (at_ms bigint, key bigint);

create table lane (
  queue text not null,
  partition_key text not null,
  priority smallint not null,
  from_at_ms bigint not null default -1,
  from_key bigint not null default -1,
  safe_at_ms bigint not null default -1,
  safe_key bigint not null default -1,
  -- What safe_* becomes once every transaction numbered below mark_xid has ended.
  mark_at_ms bigint not null default -1,
  mark_key bigint not null default -1,
  mark_xid xid8 not null default '0',
  advanced_at_ms bigint not null default 0,
  rescan_at_ms bigint not null default 0,
  primary key (queue, partition_key, priority)
) with (fillfactor = 50);

-- For enqueue: makes the lanes of the arrivals exist and moves a position back where something
-- arrives before it.
create function note_arrivals(p_queue text, p_partition_keys text[], p_priorities smallint[], p_at_ms bigint)
returns void
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_arrival record;
begin
  for v_arrival in
    select distinct a.partition_key, a.priority
    from unnest(p_partition_keys, p_priorities) as a (partition_key, priority)
    order by 1, 2
  loop
    if not exists (
      select from lane l
      where l.queue = p_queue and l.partition_key = v_arrival.partition_key and l.priority = v_arrival.priority
    ) then
      insert into lane (queue, partition_key, priority)
      values (p_queue, v_arrival.partition_key, v_arrival.priority)
      on conflict do nothing;
    end if;
    update lane l
    set from_at_ms = p_at_ms, from_key = -1,
      safe_at_ms = least(l.safe_at_ms, p_at_ms), safe_key = -1,
      mark_at_ms = least(l.mark_at_ms, p_at_ms), mark_key = -1
    where l.queue = p_queue and l.partition_key = v_arrival.partition_key and l.priority = v_arrival.priority
      and l.from_at_ms > p_at_ms;
  end loop;
end;
$$;

-- For claim: moves the positions of the lanes it drew from to the first row of its draw, so that
-- they lag a little. Polls that found nothing may search behind a position but do not use up the
-- turn of those that found something.
create function remember_positions(
  p_queue text, p_partition_keys text[],
  p_of_lane text[], p_of_priority smallint[], p_at_ms bigint[], p_keys bigint[]
)
returns void
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  c_every_ms constant bigint := 250;
  c_search_every_ms constant bigint := 1000;
  c_search_share constant bigint := 20;
  v_lane lane;
  v_first place;
  v_late place;
  v_now_ms bigint := now_ms();
begin
  for v_lane in
    select l.*
    from lane l
    where l.queue = p_queue and l.partition_key = any (p_partition_keys)
      and (l.rescan_at_ms <= v_now_ms or p_keys is not null and l.advanced_at_ms <= v_now_ms - c_every_ms)
    for update skip locked
  loop
    select d.at_ms, d.key into v_first
    from unnest(p_of_lane, p_of_priority, p_at_ms, p_keys) as d (partition_key, priority, at_ms, key)
    where d.partition_key = v_lane.partition_key and d.priority = v_lane.priority
    order by d.at_ms, d.key
    limit 1;
    if found then
      if (v_first.at_ms, v_first.key) > (v_lane.from_at_ms, v_lane.from_key) then
        v_lane.from_at_ms := v_first.at_ms;
        v_lane.from_key := v_first.key - 1;
      end if;
      v_lane.advanced_at_ms := v_now_ms;
    elsif v_lane.rescan_at_ms > v_now_ms then
      continue;
    end if;

    if v_lane.rescan_at_ms <= v_now_ms then
      -- A row under somebody's unfinished claim counts as available: the claim may be rolled back.
      v_late := first_available(p_queue, v_lane.partition_key, v_lane.priority,
        (v_lane.safe_at_ms, v_lane.safe_key)::place, (v_lane.from_at_ms, v_lane.from_key)::place);
      if v_late.key is not null then
        v_lane.from_at_ms := v_late.at_ms;
        v_lane.from_key := v_late.key - 1;
      end if;
      if (v_late.key is null or (v_late.at_ms, v_late.key) > (v_lane.mark_at_ms, v_lane.mark_key))
        and pg_snapshot_xmin(pg_current_snapshot()) >= v_lane.mark_xid
      then
        v_lane.safe_at_ms := v_lane.mark_at_ms;
        v_lane.safe_key := v_lane.mark_key;
        v_lane.mark_at_ms := v_lane.from_at_ms;
        v_lane.mark_key := v_lane.from_key;
        v_lane.mark_xid := pg_snapshot_xmax(pg_current_snapshot());
      end if;
      v_lane.rescan_at_ms := v_now_ms + greatest(c_search_every_ms, c_search_share * (now_ms() - v_now_ms));
    end if;

    update lane l
    set from_at_ms = v_lane.from_at_ms, from_key = v_lane.from_key,
      safe_at_ms = v_lane.safe_at_ms, safe_key = v_lane.safe_key,
      mark_at_ms = v_lane.mark_at_ms, mark_key = v_lane.mark_key, mark_xid = v_lane.mark_xid,
      advanced_at_ms = v_lane.advanced_at_ms, rescan_at_ms = v_lane.rescan_at_ms
    where l.queue = v_lane.queue and l.partition_key = v_lane.partition_key and l.priority = v_lane.priority;
  end loop;
end;
$$;
