create or replace function :SCHEMA.settle(acks :SCHEMA.ack_input[])
returns :SCHEMA.settled_job[]
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
declare
  v_left :SCHEMA.ack_input[] := acks;
  v_settled :SCHEMA.settled_job[] := '{}';
begin
  for v_look in 1..3 loop
    -- Jobs that leave no trace go first: a success without retention, the hot path, is one delete.
    with held as materialized (
      select a.ord, a.id, a.outcome, a.fence, h.tid, l.lease_no, l.worker, l.queue is not null as own_lease
      from (select * from unnest(v_left) u where u.outcome in ('success', 'revoke') order by u.key) a
      -- offset 0: each job is looked up by its key whatever the statistics say; a plan that starts from the
      -- table would walk all that has ever been in it.
      cross join lateral (
        select j.ctid as tid, j.lease_no
        from :SCHEMA.job j
        where j.key = a.key and j.state = 'running' and j.fence = a.fence and (j.id is null or j.id = a.id)
          and (a.outcome = 'revoke' or j.retention_ms is null)
        offset 0) h
      cross join lateral (
        select o.* from :SCHEMA.lease o where o.lease_no = h.lease_no and o.lease_id = a.lease_id offset 0) l
    ), gone as (
      delete from :SCHEMA.job j
      using held h
      where j.ctid = h.tid and j.state = 'running' and j.fence = h.fence and j.lease_no = h.lease_no
      returning cast(row(h.ord, h.id, j.key, 'deleted', h.outcome, j.queue, j.partition_key, j.sticky_worker,
        j.class_key, j.priority, j.scheduled_at_ms, j.kind, j.attempt, j.fence, h.worker, j.claimed_at_ms,
          h.lease_no, h.own_lease,
        j.weight, coalesce(j.charged, j.rate_classes)) as :SCHEMA.settled_job) as settled
    )
    select v_settled || coalesce(array_agg(g.settled), '{}') into v_settled from gone g;
    exit when cardinality(v_settled) = cardinality(acks);
    v_settled := v_settled || coalesce(:SCHEMA.settle_in_place(v_left), '{}');
    exit when cardinality(v_settled) = cardinality(acks);
    -- Looked at again: somebody who held the row, such as renew, which may give its job another lease row,
    -- may have left the job to its holder.
    v_left := array(
      select a from unnest(v_left) a
      where exists (
        select from :SCHEMA.job j
        join :SCHEMA.lease l on l.lease_no = j.lease_no
        where j.key = a.key and j.state = 'running' and j.fence = a.fence and l.lease_id = a.lease_id
        offset 0));
    exit when v_left = '{}';
  end loop;
  if v_settled <> '{}' then
    perform :SCHEMA.after_settle(acks, v_settled);
  end if;
  return v_settled;
end;
$$;
comment on function :SCHEMA.settle is
  'Ends attempts under the holder check: job, lease id, fence and state running must match one row. Returns '
  'those that did; the others have written nothing. An expired lease that nobody reclaimed still counts: the '
  'work is done.';
revoke all on function :SCHEMA.settle from public;
