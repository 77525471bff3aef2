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
    from :SCHEMA.job j
    where j.state = 'running'
      and not exists (select from :SCHEMA.lease l where l.lease_no = j.lease_no and j.key = any (l.keys))
    limit 100;
  return query
    select 'a job in line has a lane', :SCHEMA.job_id(j.key, j.id), 'queue ' || j.queue || ', partition '
      || j.partition_key
    from (select * from :SCHEMA.job o where o.stage = 1 and o.state = 'available' limit 10000) j
    where not exists (
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
      where o.queue = l.queue and o.partition_key = l.partition_key and o.sticky_worker = l.sticky_worker
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
end;
$$;
comment on function :SCHEMA.verify_invariants is
  'Looks for damage: running jobs without a lease, jobs that the gate would not find, depths that disagree '
  'with the jobs. No row on a sound install. Reads only, bounded.';
revoke all on function :SCHEMA.verify_invariants from public;
