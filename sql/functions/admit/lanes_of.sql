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
  v_lanes :SCHEMA.lane_start[];
begin
  if cardinality(lanes_of.queues) = 1 then
    -- Most queues have a single line, for which nobody need take turns.
    v_lanes := array(
      select cast(row(1, l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority,
        l.served_at_ms, l.start_ms, l.start_key, l.tip_key, l.moved_at_ms, 0) as :SCHEMA.lane_start)
      from :SCHEMA.lane_head l
      where l.queue = lanes_of.queues[1] and l.sticky_worker in ('', lanes_of.worker)
      limit 2);
    if cardinality(v_lanes) < 2 then
      return nullif(v_lanes, '{}');
    end if;
  end if;
  with picked as (
    select l.queue, l.partition_key, min(l.served_at_ms) as served_at_ms
    from unnest(lanes_of.queues) q(queue)
    cross join lateral (
      select n.queue, n.partition_key, n.served_at_ms
      from :SCHEMA.lane n
      where n.queue = q.queue and n.sticky_worker in ('', lanes_of.worker)
      order by n.served_at_ms, n.no
      limit lanes_of.most) l
    group by l.queue, l.partition_key
  ), lanes as (
    select distinct on (l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority)
      l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority, l.start_ms, l.start_key,
      l.tip_key, l.moved_at_ms, p.served_at_ms
    from picked p
    join :SCHEMA.lane_head l on l.queue = p.queue and l.partition_key = p.partition_key
      and l.sticky_worker in ('', lanes_of.worker)
    order by l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority, l.no
  )
  select array_agg(cast(row(l.place, l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority,
    l.served_at_ms, l.start_ms, l.start_key, l.tip_key, l.moved_at_ms, 0) as :SCHEMA.lane_start)
    order by l.place)
  into v_lanes
  from (
    select n.*, row_number() over (order by n.served_at_ms, n.priority desc, n.no) as place
    from lanes n) l;
  return v_lanes;
end;
$$;
comment on function :SCHEMA.lanes_of is
  'The lines that a worker may draw from, least recently served partitions first, each with the place where '
  'to start.';
revoke all on function :SCHEMA.lanes_of from public;
