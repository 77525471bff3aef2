create or replace function :SCHEMA.lanes_of(queues text[], worker text, most integer)
returns :SCHEMA.lane_window
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_window :SCHEMA.lane_window;
begin
  v_window.crowded := false;
  if cardinality(lanes_of.queues) = 1 then
    v_window.lanes := array(
      select cast(row(1, 1, l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key, l.rate_classes,
        l.priority, l.line, l.served_at_ms, l.start_ms, l.start_key, l.tip_key, l.moved_at_ms,
        null) as :SCHEMA.lane_start)
      from :SCHEMA.lane_head l
      where l.queue = lanes_of.queues[1] and l.sticky_worker in ('', lanes_of.worker)
      limit lanes_of.most + 1);
    -- Most queues have a single line, for which nobody need take turns.
    if cardinality(v_window.lanes) < 2 then
      return v_window;
    end if;
    v_window.crowded := cardinality(v_window.lanes) > lanes_of.most;
  end if;
  if v_window.lanes is null or v_window.crowded then
    with seen as materialized (
      select n.queue, n.partition_key
      from unnest(lanes_of.queues) q(queue)
      cross join lateral (
        select r.queue, r.partition_key
        from :SCHEMA.lane r
        where r.queue = q.queue and r.sticky_worker in ('', lanes_of.worker)
        order by r.served_at_ms, r.no
        limit lanes_of.most) n
    )
    select array(
        select cast(row(1, 1, l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key, l.rate_classes,
          l.priority, l.line, l.served_at_ms, l.start_ms, l.start_key, l.tip_key, l.moved_at_ms,
          null) as :SCHEMA.lane_start)
        from (select distinct s.queue, s.partition_key from seen s) p
        join :SCHEMA.lane_head l on l.queue = p.queue and l.partition_key = p.partition_key
          and l.sticky_worker in ('', lanes_of.worker)),
      exists (select from seen s group by s.queue having count(*) = lanes_of.most)
    into v_window.lanes, v_window.crowded;
  end if;
  if cardinality(v_window.lanes) = (
    select count(distinct l.partition_key) from unnest(v_window.lanes) l)
  then
    -- Mostly each partition is one line.
    v_window.lanes := array(
      select cast(row(l.turn, l.turn, l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key,
        l.rate_classes, l.priority, l.line, l.served_at_ms, l.start_ms, l.start_key, l.tip_key,
        l.moved_at_ms, null) as :SCHEMA.lane_start)
      from (
        select u.*, row_number() over (order by u.served_at_ms, u.priority desc, u.no) as turn
        from unnest(v_window.lanes) u) l
      order by l.turn);
    return v_window;
  end if;
  v_window.lanes := array(
    select cast(row(n.place, n.part, n.no, n.queue, n.partition_key, n.sticky_worker, n.class_key,
      n.rate_classes, n.priority, n.line, n.turn_ms, n.start_ms, n.start_key, n.tip_key, n.moved_at_ms,
      null) as :SCHEMA.lane_start)
    from (
      select p.*, min(p.turn) over (partition by p.queue, p.partition_key) as part, p.turn as place
      from (
        select d.*, row_number() over (order by d.turn_ms, d.priority desc, d.no) as turn
        from (
          select distinct on (l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority)
            l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key, l.rate_classes, l.priority, l.line,
            l.start_ms, l.start_key, l.tip_key, l.moved_at_ms,
            min(l.served_at_ms) over (partition by l.queue, l.partition_key) as turn_ms
          from unnest(v_window.lanes) l
          order by l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority, l.no) d) p) n
    order by n.place);
  return v_window;
end;
$$;
comment on function :SCHEMA.lanes_of is
  'The lines that a worker may draw from, least recently served partitions first, each with its place, its '
  'partition (the place of the first of its lines) and where to start in it. most: how many are looked at of '
  'each queue.';
revoke all on function :SCHEMA.lanes_of from public;
