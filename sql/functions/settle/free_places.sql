create or replace function :SCHEMA.free_places(leases bigint[], queues text[])
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
  v_left boolean;
begin
  -- As drop_leases, without a look at the jobs, where all of a lease have ended at once.
  with ended as materialized (
    select u.lease_no, count(*) as jobs
    from (select unnest(leases) as lease_no) u
    group by u.lease_no
  ), gone as (
    delete from :SCHEMA.lease l
    where l.lease_no = any (array(
      select o.lease_no
      from ended e
      join :SCHEMA.lease o on o.lease_no = e.lease_no and cardinality(o.keys) = e.jobs
      for update of o skip locked))
    returning l.lease_no
  )
  select (select count(*) from ended) > (select count(*) from gone) into v_left;
  if v_left then
    perform :SCHEMA.drop_leases(leases);
  end if;
  -- Whoever waits for a place may sleep.
  perform :SCHEMA.wake_workers(queues);
end;
$$;
comment on function :SCHEMA.free_places is
  'Tells of jobs that ran under a ceiling and have ended: the lease and the queue of each. Leases of which '
  'none is left are removed, and a worker that waits for a place is woken.';
revoke all on function :SCHEMA.free_places from public;
