create or replace function :SCHEMA.settle_plain(job_ids text[], lease_ids text[], fences bigint[])
returns integer[]
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
  v_ended integer[];
  v_keys bigint[];
  v_fences bigint[];
  v_leases bigint[];
  v_queues text[];
begin
  if exists (select from :SCHEMA.queue q where q.history = 'all') then
    return '{}';
  end if;
  -- As in settle, without what only other ends need.
  with held as materialized (
    select a.ord, a.fence, h.tid, h.lease_no, l.own_lease
    from (
      select u.*,
        coalesce(:SCHEMA.generated_key(u.id), (select o.key from :SCHEMA.job o where o.id = u.id)) as key
      from unnest(job_ids, lease_ids, fences) with ordinality u(id, lease_id, fence, ord)
      order by key) a
    cross join lateral (
      select j.ctid as tid, j.lease_no
      from :SCHEMA.job j
      where j.key = a.key and j.state = 'running' and j.fence = a.fence and (j.id is null or j.id = a.id)
        and j.retention_ms is null
      offset 0) h
    cross join lateral (
      select o.queue is not null as own_lease from :SCHEMA.lease o
      where o.lease_no = h.lease_no and o.lease_id = a.lease_id
      offset 0) l
  ), gone as (
    delete from :SCHEMA.job j
    using held h
    where j.ctid = h.tid and j.state = 'running' and j.fence = h.fence and j.lease_no = h.lease_no
    returning h.ord, j.key, j.fence, j.queue, h.lease_no, h.own_lease
  ), counted as (
    insert into :SCHEMA.tally (queue, at_ms, completed, failed, depth)
    select g.queue, :SCHEMA.now_ms(), count(*), 0, - count(*) from gone g group by g.queue
  )
  select array_agg(g.ord), array_agg(g.key), array_agg(g.fence),
    array_agg(g.lease_no) filter (where g.own_lease), array_agg(g.queue) filter (where g.own_lease)
  into v_ended, v_keys, v_fences, v_leases, v_queues
  from gone g;
  if v_ended is null then
    return '{}';
  end if;
  if v_leases is not null then
    perform :SCHEMA.free_places(v_leases, v_queues);
  end if;
  -- By key even where the table may be empty: to ask would walk the remains of all that was deleted from it.
  delete from :SCHEMA.job_extra x where x.key = any (v_keys);
  if exists (select from :SCHEMA.attempt o where o.finished_at_ms is null and o.job_key = any (v_keys)) then
    perform :SCHEMA.trim_attempts(k)
    from unnest(:SCHEMA.close_runs(array(
      select cast(row(g.key, g.fence, 'success', null, null) as :SCHEMA.run_end)
      from unnest(v_keys, v_fences) g(key, fence)), :SCHEMA.now_ms())) k;
  end if;
  return v_ended;
end;
$$;
comment on function :SCHEMA.settle_plain is
  'Ends, with success and nothing beside it, those jobs that leave no trace and need no more: no retention, '
  'no history. Under the holder check, as settle, which the others are left to. Returns the places in the '
  'lists of those that have ended.';
revoke all on function :SCHEMA.settle_plain from public;
