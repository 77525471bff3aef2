create or replace function :SCHEMA.verify_invariants()
returns table (invariant text, subject text, detail text)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select 'a running job has a lease', :SCHEMA.job_id(j.key, j.id), 'lease_no ' || j.lease_no
      || ' does not exist or does not name it'
    from (select * from :SCHEMA.job o where o.stage = 1 limit 20000) j
    where j.state = 'running'
      and not exists (select from :SCHEMA.lease l where l.lease_no = j.lease_no and j.key = any (l.keys))
    limit 100;
  return query
    select 'a job that runs under a ceiling holds a slot of it', :SCHEMA.job_id(j.key, j.id), 'queue '
      || j.queue || ', partition ' || j.partition_key
    from (select * from :SCHEMA.job o where o.stage = 1 limit 20000) j
    join :SCHEMA.concurrency_limit m on m.queue = j.queue
    where j.state = 'running' and not exists (
      select from :SCHEMA.lease l
      where l.lease_no = j.lease_no and l.queue = j.queue and l.partition_key = j.partition_key)
    limit 100;
  return query
    select 'a job in line has a lane', :SCHEMA.job_id(j.key, j.id), 'queue ' || j.queue || ', partition '
      || j.partition_key
    from (select * from :SCHEMA.job o where o.stage = 1 limit 20000) j
    where j.state = 'available' and not exists (
      select from :SCHEMA.lane l
      where l.queue = j.queue and l.partition_key = j.partition_key and l.sticky_worker = j.sticky_worker
        and l.class_key = j.class_key and l.priority = j.priority)
    limit 100;
  return query
    select 'the gate looks at every job in line', :SCHEMA.job_id(j.key, j.id), 'the lane starts at '
      || l.from_ms || ', ' || l.from_key
    from (
      select distinct on (o.queue, o.partition_key, o.sticky_worker, o.class_key, o.priority) o.*
        from :SCHEMA.lane o
      order by o.queue, o.partition_key, o.sticky_worker, o.class_key, o.priority, o.no) l
    cross join lateral (
      select o.* from :SCHEMA.job o
      where o.queue = l.queue and o.line = l.line and o.partition_key = l.partition_key
        and o.sticky_worker = l.sticky_worker
        and o.class_key = l.class_key and o.priority = l.priority and o.stage = 1 and o.state = 'available'
        and (o.scheduled_at_ms, o.key) < (l.from_ms, l.from_key)
      order by o.scheduled_at_ms, o.key
      limit 1) j
    where not exists (
      select from :SCHEMA.lane_return r
      where r.queue = l.queue and r.partition_key = l.partition_key and r.sticky_worker = l.sticky_worker
        and r.class_key = l.class_key and r.priority = l.priority
        and (r.at_ms, r.key) <= (j.scheduled_at_ms, j.key))
    limit 100;
  return query
    select 'the depth of a queue is the number of its unfinished jobs', d.queue, d.depth || ' counted, '
      || c.jobs || ' there'
    from (
      select q.queue, sum(q.depth) as depth
      from (select o.queue, o.depth from :SCHEMA.queue_depth o union all select t.queue, t.depth
        from :SCHEMA.tally t) q
      group by q.queue
      having sum(q.depth) < 50000) d
    cross join lateral (
      select count(*) as jobs from (
        select from :SCHEMA.job j where j.queue = d.queue and j.stage < 2 limit 100000) j) c
    where c.jobs <> d.depth
    limit 100;
  return query
    select 'a job that does not run holds nothing', :SCHEMA.job_id(j.key, j.id),
      'claimed_at_ms or charged is set'
    from (
      (select n.* from (select * from :SCHEMA.job o where o.stage = 1 limit 20000) n
       where n.state = 'available')
      union all (select * from :SCHEMA.job o where o.stage = 0 limit 10000)
      union all (select * from :SCHEMA.job o where o.stage = 2 limit 10000)) j
    where j.claimed_at_ms is not null or j.charged is not null
    limit 100;
  return query
    select 'a running job was claimed', :SCHEMA.job_id(j.key, j.id), 'fence ' || j.fence
    from (select * from :SCHEMA.job o where o.stage = 1 limit 20000) j
    where j.state = 'running' and (j.fence < 1 or j.claimed_at_ms is null)
    limit 100;
  return query
    select 'a slot of a ceiling belongs to a running job', l.lease_no::text, 'queue ' || l.queue
      || ', partition ' || l.partition_key
    from (select * from :SCHEMA.lease o where o.queue is not null order by o.queue,
      o.partition_key limit 10000) l
    -- Where two ends of the same lease miss each other, its row stays until it expires, and counts nobody.
    where (cardinality(l.keys) = 1 or l.expires_at_ms < :SCHEMA.now_ms() - 600000)
      and not exists (
        select from :SCHEMA.job j where j.key = any (l.keys) and j.lease_no = l.lease_no
          and j.state = 'running')
    limit 100;
  return query
    select 'a finished job has an end', :SCHEMA.job_id(j.key, j.id), 'state ' || j.state
    from (select * from :SCHEMA.job o where o.stage = 2 and o.shelf in (4, 5, 6, 8)
      and o.evict_at_ms is null limit 100) j;
  return query
    select 'what a job left belongs to a job', x.key::text, 'job_extra without job'
    from (select o.key from :SCHEMA.job_extra o order by o.key desc limit 10000) x
    where not exists (select from :SCHEMA.job j where j.key = x.key)
    limit 100;
  return query
    select 'no depth is negative', d.queue, d.depth::text
    from (
      select q.queue, sum(q.depth) as depth
      from (select o.queue, o.depth from :SCHEMA.queue_depth o union all select t.queue, t.depth
        from :SCHEMA.tally t) q
      group by q.queue) d
    where d.depth < 0
    limit 100;
  return query
    select 'the archive has a place for evicted jobs', p.queue, 'no partition for this month'
    from :SCHEMA.archive_policy p
    where not exists (
      select from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = :SCHEMA_LITERAL
        and c.relname = 'job_archive_' || to_char(to_timestamp(:SCHEMA.now_ms() / 1000) at time zone 'UTC',
          'YYYYMM'))
    limit 1;
  return query
    select 'an open run has its job running', coalesce(a.run_id, a.no::text),
      'job ' || a.job_id || ', fence ' || a.fence
    from :SCHEMA.attempt a
    where a.finished_at_ms is null and a.fence is not null
      and not exists (
        select from :SCHEMA.job j where j.key = a.job_key and j.state = 'running' and j.fence = a.fence)
    limit 100;
  return query
    select 'a schedule that is due is looked at', s.id, 'due since ' || greatest(s.next_run_ms, s.retry_at_ms)
      || ', and tick_schedules ran at ' || d.ran_at_ms
    from :SCHEMA.schedule s
    join :SCHEMA.duty d on d.name = 'tick_schedules'
    where not s.paused
      and greatest(s.next_run_ms, s.retry_at_ms) < least(d.ran_at_ms, :SCHEMA.now_ms()) - 600000
    limit 100;
  return query
    select 'a schedule that failed is tried again soon', s.id, 'not before ' || s.retry_at_ms
    from :SCHEMA.schedule s
    where s.retry_at_ms > :SCHEMA.now_ms() + 600000
    limit 100;
  return query
    -- What a rebuild has left or is making stands beside an index that is valid.
    select 'an index is valid', h.name, 'rebuild it: see reindexable'
    from :SCHEMA.index_health() h
    where not h.valid and not h.leftover
    limit 100;
end;
$$;
comment on function :SCHEMA.verify_invariants is
  'Looks for damage: running jobs without a lease, jobs that the gate would not find, depths that disagree '
  'with the jobs, schedules that are stuck, invalid indexes. No row on a sound install. Reads only, bounded.';
revoke all on function :SCHEMA.verify_invariants from public;
