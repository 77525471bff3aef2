create or replace function :SCHEMA.renew(leases json, lease_ms bigint)
returns setof text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_asked :SCHEMA.ack_input[];
  v_leases bigint[];
  v_held bigint[];
  v_expires_ms bigint;
  v_partly record;
  v_lease_no bigint;
begin
  perform :SCHEMA.check_duration('lease_ms', renew.lease_ms);
  v_asked := :SCHEMA.read_list(leases, 'leases', 'lease', 100000, '{job_id,lease_id,fence}');
  -- The leases are locked first and read in a statement of its own, which sees what was done to them
  -- meanwhile.
  v_leases := array(
    select distinct h.lease_no
    from unnest(v_asked) a
    cross join lateral (
      select j.lease_no from :SCHEMA.job j where j.key = a.key and j.fence = a.fence
        and j.lease_no is not null offset 0) h);
  perform from :SCHEMA.lease l where l.lease_no = any (v_leases) order by l.lease_no for update;
  v_held := array(
    select h.key
    from unnest(v_asked) a
    cross join lateral (
      select j.key, j.lease_no
      from :SCHEMA.job j
      where j.key = a.key and j.state = 'running' and j.fence = a.fence and (j.id is null or j.id = a.id)
      offset 0) h
    cross join lateral (
      select from :SCHEMA.lease l where l.lease_no = h.lease_no and l.lease_id = a.lease_id offset 0) l
    -- Is true keeps this a look-up in a hash table, as those below; = any (…) would read the whole list for
    -- each job.
    where (h.lease_no in (select n.lease_no from unnest(v_leases) n(lease_no))) is true);
  v_expires_ms := :SCHEMA.now_ms() + renew.lease_ms;

  for v_partly in
    select l.lease_no, l.lease_id, l.worker, l.queue, l.partition_key, l.claimed_at_ms,
      greatest(l.expires_at_ms, v_expires_ms) as expires_at_ms,
      array_agg(j.key) filter (where j.held) as keys,
      bool_and(j.held) as whole
    from :SCHEMA.lease l
    cross join lateral unnest(l.keys) k(key)
    cross join lateral (
      select o.key, o.key in (select h.key from unnest(v_held) h(key)) as held
      from :SCHEMA.job o
      where o.key = k.key and o.lease_no = l.lease_no
      offset 0) j
    where l.lease_no = any (v_leases)
    group by l.lease_no
    having bool_or(j.held)
  loop
    if v_partly.whole then
      update :SCHEMA.lease l
      set expires_at_ms = v_partly.expires_at_ms, keys = v_partly.keys
      where l.lease_no = v_partly.lease_no;
    else
      -- Some jobs of the claim are not to be kept: those that are get a lease of their own.
      insert into :SCHEMA.lease (lease_id, worker, queue, partition_key, claimed_at_ms, expires_at_ms, keys)
      values (v_partly.lease_id, v_partly.worker, v_partly.queue, v_partly.partition_key,
        v_partly.claimed_at_ms, v_partly.expires_at_ms, v_partly.keys)
      returning lease_no into v_lease_no;
      -- Who holds one of the rows ends its attempt, and may wait for the lease that is locked here.
      update :SCHEMA.job j
      set lease_no = v_lease_no
      where j.key = any (array(
        select o.key from :SCHEMA.job o
        where o.key = any (v_partly.keys) and o.lease_no = v_partly.lease_no
        order by o.key
        for update skip locked));
      if not found then
        delete from :SCHEMA.lease l where l.lease_no = v_lease_no;
      end if;
    end if;
  end loop;
  return query
    select a.id from unnest(v_asked) a
    where a.key is null or a.key not in (select h.key from unnest(v_held) h(key))
    order by a.ord;
end;
$$;
comment on function :SCHEMA.renew is
  'Extends the leases of a list of {job_id, lease_id, fence} to lease_ms from now and returns the ids of the '
  'jobs that are no longer held; it never fails because of those. A lease that has expired but was not '
  'reclaimed is revived; none is ever shortened. Errors: HR007.';
revoke all on function :SCHEMA.renew from public;
