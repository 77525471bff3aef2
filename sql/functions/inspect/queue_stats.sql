create or replace function :SCHEMA.queue_stats()
returns setof :SCHEMA.queue_stat
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  -- The last whole minute and what has passed of this one.
  v_since bigint := v_now / 60000 * 60000 - 60000;
  v_seconds double precision := (v_now - (v_now / 60000 * 60000 - 60000)) / 1000.0;
  v_queues text[];
  v_cap integer;
  v_lines integer;
begin
  v_queues := array(
    select n.queue from (
      select q.queue from :SCHEMA.queue q
      union select d.queue from :SCHEMA.queue_depth d
      union select t.queue from :SCHEMA.tally t) n
    order by n.queue
    limit 10000);
  v_cap := greatest(100, least(10000, 100000 / greatest(1, cardinality(v_queues))));
  v_lines := greatest(20, least(1001, 20000 / greatest(1, cardinality(v_queues))));
  return query
    with recent as materialized (
      select r.queue, sum(r.depth)::bigint as depth, sum(r.arrived) as arrived, sum(r.drained) as drained
      from (
        select t.queue, t.depth, case when t.at_ms >= v_since then t.arrived end as arrived,
          case when t.at_ms >= v_since then t.arrived - t.depth end as drained
        from :SCHEMA.tally t
        union all
        select m.queue, 0, m.arrived, m.drained from :SCHEMA.queue_minute m where m.minute_ms >= v_since
        union all
        select d.queue, d.depth, 0, 0 from :SCHEMA.queue_depth d) r
      group by r.queue
    )
    select n.queue, coalesce(r.depth, 0), q.max_unfinished_jobs, coalesce(q.paused, false),
      coalesce(q.weight, 1), coalesce(w.states, '{}') || coalesce(l.states, '{}'), coalesce(w.capped, false)
        or coalesce(l.capped, false),
      coalesce(r.arrived, 0) / v_seconds, coalesce(r.drained, 0) / v_seconds,
      case
        when coalesce(r.depth, 0) = 0 then 0
        when r.drained > r.arrived then (r.depth * v_seconds * 1000 / (r.drained - r.arrived))::bigint
      end,
      case when h.oldest_ms is not null then greatest(0, v_now - h.oldest_ms) end,
      case when h.partitions < v_lines then h.quiet end,
      case when h.partitions < v_lines and h.quiet_oldest_ms is not null
        then greatest(0, v_now - h.quiet_oldest_ms) end,
      s.job_bytes * coalesce(r.depth, 0), s.sampled_jobs, s.sampled_at_ms
    from unnest(v_queues) n(queue)
    left join recent r on r.queue = n.queue
    left join :SCHEMA.queue q on q.queue = n.queue
    left join :SCHEMA.queue_sample s on s.queue = n.queue
    left join lateral (
      select jsonb_object_agg(a.state, a.jobs) filter (where a.jobs > 0) as states,
        bool_or(a.jobs = v_cap) as capped
      from (
        select e.state, c.jobs
        from unnest(cast('{pending,scheduled,retryable,completed,archived,cancelled,quarantined,undecodable}'
          as text[])) with ordinality e(state, shelf)
        cross join lateral (
          select count(*) as jobs from (
            select from :SCHEMA.job j
            where j.queue = n.queue and j.shelf = e.shelf and j.stage <> 1
            limit v_cap) o) c) a) w on true
    left join lateral (
      select jsonb_object_agg(a.state, a.jobs) as states, sum(a.jobs) = v_cap as capped
      from (
        select o.state, count(*) as jobs
        from (select j.state from :SCHEMA.job j where j.queue = n.queue and j.stage = 1 limit v_cap) o
        group by o.state) a) l on true
    left join lateral (
      select min(p.oldest_ms) as oldest_ms, count(*) as partitions,
        count(*) filter (where c.jobs <= 10) as quiet,
          min(p.oldest_ms) filter (where c.jobs <= 10) as quiet_oldest_ms
      from (
        select a.partition_key, min(f.scheduled_at_ms) as oldest_ms
        from (select o.* from :SCHEMA.lane o where o.queue = n.queue order by o.served_at_ms,
          o.no limit v_lines) a
        cross join lateral (
          select j.scheduled_at_ms from :SCHEMA.job j
          where j.queue = a.queue and j.line = a.line and j.partition_key = a.partition_key
            and j.sticky_worker = a.sticky_worker
            and j.class_key = a.class_key and j.priority = a.priority and j.stage = 1
            and (j.scheduled_at_ms, j.key) >= (a.from_ms, a.from_key) and j.state = 'available'
          order by j.scheduled_at_ms, j.key
          limit 1) f
        group by a.partition_key) p
      cross join lateral (
        select count(*) as jobs from (
          select from :SCHEMA.line b
          cross join lateral (
            select from :SCHEMA.job j
            where j.queue = b.queue and j.line = b.line and j.partition_key = b.partition_key
              and j.sticky_worker = b.sticky_worker and j.class_key = b.class_key and j.priority = b.priority
              and j.stage = 1
            limit 11) j
          where b.queue = n.queue and b.partition_key = p.partition_key
          limit 11) o) c) h on true
    order by n.queue;
end;
$$;
comment on function :SCHEMA.queue_stats is
  'How each queue fares, at most 10,000 of them: depth is exact (unfinished jobs); by_state counts up to a '
  'cap per state and then says approximate; arrival and drain are jobs per second over the last one to two '
  'minutes; time_to_drain_ms is null while the queue does not shrink; oldest_available_ms is the longest '
  'wait of a job that could run, quiet_oldest_ms the same for the partitions with at most 10 jobs in line '
  '(null with 1,000 partitions or more: then also of the queue only those are looked at that were served '
  'least recently). memory_bytes is an estimate from the last sample_queue_memory.';
revoke all on function :SCHEMA.queue_stats from public;
