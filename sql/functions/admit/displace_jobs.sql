create or replace function :SCHEMA.displace_jobs(queue text, partition_key text, most integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_victims :SCHEMA.settled_job[];
begin
  if most < 1 then
    return 0;
  end if;
  with victim as (
    select j.key, j.fence, j.lease_no, l.worker, j.claimed_at_ms
    from :SCHEMA.job j
    join :SCHEMA.lease l on l.lease_no = j.lease_no
    where j.state = 'running' and j.key = any (array(
      select k.key from :SCHEMA.lease o cross join lateral unnest(o.keys) k(key)
      where o.queue = displace_jobs.queue and o.partition_key = displace_jobs.partition_key))
      and l.queue = displace_jobs.queue and l.partition_key = displace_jobs.partition_key
    order by j.claimed_at_ms, j.key
    limit displace_jobs.most
    for update of j skip locked
  ), displaced as (
    update :SCHEMA.job j
    set state = 'cancelled', fence = least(j.fence, 9223372036854775806) + 1, lease_no = null,
      claimed_at_ms = null, charged = null, finalized_at_ms = v_now,
        evict_at_ms = v_now + coalesce(j.retention_ms, :SCHEMA.failed_retention_ms(j.queue))
    from victim v
    where j.key = v.key
    returning cast(row(1, :SCHEMA.job_id(j.key, j.id), j.key, j.state, 'displaced', j.queue, j.partition_key,
      j.sticky_worker, j.class_key, j.priority, j.scheduled_at_ms, j.kind, j.attempt, v.fence, v.worker,
      v.claimed_at_ms, v.lease_no, true, j.weight, null) as :SCHEMA.settled_job) as settled
  )
  select array_agg(d.settled) into v_victims from displaced d;
  if v_victims is null then
    return 0;
  end if;
  perform :SCHEMA.drop_leases(array(select distinct v.lease_no from unnest(v_victims) v));
  insert into :SCHEMA.tally (queue, at_ms, failed, depth)
  values (displace_jobs.queue, v_now, cardinality(v_victims), - cardinality(v_victims));
  perform :SCHEMA.record_attempts(
    array[cast(row(1, null, null, null, null, 'displaced', 'displaced by a newer job at the ceiling', null,
      null, null, null, null) as :SCHEMA.ack_input)], v_victims, v_now);
  return cardinality(v_victims);
end;
$$;
comment on function :SCHEMA.displace_jobs is
  'Cancels up to most of the jobs that run longest in a partition, to make room under its ceiling. Their '
  'holders learn it at their next call. Returns how many.';
revoke all on function :SCHEMA.displace_jobs from public;
