create or replace function :SCHEMA.lanes_of(queues text[], worker text, most integer)
returns :SCHEMA.lane_start[]
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
  v_rows :SCHEMA.lane_start[];
  v_lanes :SCHEMA.lane_start[];
begin
  if cardinality(lanes_of.queues) = 1 then
    v_rows := array(
      select cast(row(1, 1, l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key, l.rate_classes,
        l.priority, l.served_at_ms, l.start_ms, l.start_key, l.tip_key, l.moved_at_ms,
        null) as :SCHEMA.lane_start)
      from :SCHEMA.lane_head l
      where l.queue = lanes_of.queues[1] and l.sticky_worker in ('', lanes_of.worker)
      limit lanes_of.most + 1);
    -- Most queues have a single line, for which nobody need take turns.
    if cardinality(v_rows) < 2 then
      return nullif(v_rows, '{}');
    end if;
  end if;
  if v_rows is null or cardinality(v_rows) > lanes_of.most then
    v_rows := array(
      select cast(row(1, 1, l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key, l.rate_classes,
        l.priority, l.served_at_ms, l.start_ms, l.start_key, l.tip_key, l.moved_at_ms,
        null) as :SCHEMA.lane_start)
      from (
        select distinct n.queue, n.partition_key
        from unnest(lanes_of.queues) q(queue)
        cross join lateral (
          select r.queue, r.partition_key
          from :SCHEMA.lane r
          where r.queue = q.queue and r.sticky_worker in ('', lanes_of.worker)
          order by r.served_at_ms, r.no
          limit lanes_of.most) n) p
      join :SCHEMA.lane_head l on l.queue = p.queue and l.partition_key = p.partition_key
        and l.sticky_worker in ('', lanes_of.worker));
  end if;
  select array_agg(cast(row(n.place, n.part, n.no, n.queue, n.partition_key, n.sticky_worker, n.class_key,
    n.rate_classes, n.priority, n.turn_ms, n.start_ms, n.start_key, n.tip_key, n.moved_at_ms,
    null) as :SCHEMA.lane_start) order by n.place)
  into v_lanes
  from (
    select p.*, min(p.turn) over (partition by p.queue, p.partition_key) as part, p.turn as place
    from (
      select d.*, row_number() over (order by d.turn_ms, d.priority desc, d.no) as turn
      from (
        select distinct on (l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority)
          l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key, l.rate_classes, l.priority,
            l.start_ms,
          l.start_key, l.tip_key, l.moved_at_ms,
          min(l.served_at_ms) over (partition by l.queue, l.partition_key) as turn_ms
        from unnest(v_rows) l
        order by l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority, l.no) d) p) n;
  return v_lanes;
end;
$$;
comment on function :SCHEMA.lanes_of is
  'The lines that a worker may draw from, least recently served partitions first, each with its place, its '
  'partition (the place of the first of its lines) and where to start in it.';
revoke all on function :SCHEMA.lanes_of from public;
