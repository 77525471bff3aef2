create or replace function :SCHEMA.free_places(leases bigint[], queues text[])
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_hashjoin = on
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_empty bigint[];
  v_worn bigint[];
  v_freed text[];
begin
  select array_agg(e.lease_no) filter (where e.jobs = cardinality(l.keys)),
    array_agg(e.lease_no) filter (where e.jobs < cardinality(l.keys)), array_agg(distinct e.queue)
  into v_empty, v_worn, v_freed
  from (
    select u.lease_no, u.queue, count(*) as jobs
    from (select unnest(leases) as lease_no, unnest(queues) as queue) u
    group by u.lease_no, u.queue) e
  left join :SCHEMA.lease l on l.lease_no = e.lease_no;
  -- As drop_leases, without a look at the jobs.
  delete from :SCHEMA.lease l
  where l.lease_no = any (array(
    select o.lease_no from :SCHEMA.lease o where o.lease_no = any (v_empty) for update skip locked));
  if v_worn is not null then
    perform :SCHEMA.drop_leases(v_worn);
  end if;
  -- Whoever waits for a place may sleep.
  perform :SCHEMA.wake_workers(v_freed);
end;
$$;
comment on function :SCHEMA.free_places is
  'Tells of jobs that ran under a ceiling and have ended: the lease and the queue of each. Leases of which '
  'none is left are removed, and a worker that waits for a place is woken.';
revoke all on function :SCHEMA.free_places from public;
