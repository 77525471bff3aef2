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
      l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority, l.from_ms, l.from_key,
        l.tip_key, l.moved_at_ms,
      p.served_at_ms
    from picked p
    join :SCHEMA.lane l on l.queue = p.queue and l.partition_key = p.partition_key
      and l.sticky_worker in ('', lanes_of.worker)
    order by l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority, l.no
  )
  select array_agg(cast(row(l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority,
    l.served_at_ms,
      coalesce(r.at_ms, l.from_ms), coalesce(r.key, l.from_key), l.tip_key, l.moved_at_ms,
        0) as :SCHEMA.lane_start)
    order by l.served_at_ms, l.priority desc, l.no)
  into v_lanes
  from lanes l
  left join lateral (
    select t.at_ms, t.key
    from :SCHEMA.lane_return t
    where t.queue = l.queue and t.partition_key = l.partition_key and t.sticky_worker = l.sticky_worker
      and t.class_key = l.class_key and t.priority = l.priority and (t.at_ms, t.key) < (l.from_ms, l.from_key)
    order by t.at_ms, t.key
    limit 1) r on true;
  return v_lanes;
end;
$$;
comment on function :SCHEMA.lanes_of is
  'The lines that a worker may draw from, least recently served partitions first, each with the place where '
  'to start.';
revoke all on function :SCHEMA.lanes_of from public;
