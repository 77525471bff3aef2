create or replace function :SCHEMA.cancel_jobs(keys bigint[])
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_before :SCHEMA.job[];
  v_closed bigint[] := '{}';
begin
  -- The row as it was says what was running: the row as it becomes no longer does.
  v_before := array(
    select j from :SCHEMA.job j
    where j.key = any (keys) and j.state in ('pending', 'scheduled', 'available', 'running', 'retryable')
    order by j.key
    for update);
  if exists (select from :SCHEMA.attempt o where o.finished_at_ms is null) then
    v_closed := :SCHEMA.close_runs(array(
      select cast(row(b.key, b.fence, 'cancelled', 'cancelled by an operator while ' || l.worker
        || ' held the job', null)
        as :SCHEMA.run_end)
      from unnest(v_before) b
      join :SCHEMA.lease l on l.lease_no = b.lease_no), v_now);
  end if;
  insert into :SCHEMA.attempt (
    job_key, job_id, kind, queue, attempt, fence, worker, started_at_ms, finished_at_ms, outcome, error)
  select b.key, :SCHEMA.job_id(b.key, b.id), b.kind, b.queue, least(b.attempt, 2147483646) + 1,
    b.fence, l.worker, b.claimed_at_ms, v_now, 'cancelled', 'cancelled by an operator while ' || l.worker
      || ' held the job'
  from unnest(v_before) b
  join :SCHEMA.lease l on l.lease_no = b.lease_no
  where b.key <> all (v_closed)
    and not exists (select from :SCHEMA.queue q where q.queue = b.queue and q.history = 'none');
  update :SCHEMA.job j
  set state = 'cancelled', finalized_at_ms = v_now,
    evict_at_ms = v_now + coalesce(j.retention_ms, :SCHEMA.failed_retention_ms(j.queue)),
    lease_no = null, claimed_at_ms = null, charged = null
  where j.key in (select b.key from unnest(v_before) b);
  if exists (select from unnest(v_before) b where b.lease_no is not null) then
    perform :SCHEMA.drop_leases(array(select distinct b.lease_no from unnest(v_before) b
      where b.lease_no is not null));
    -- Where there is a ceiling, somebody may have waited for the place.
    perform :SCHEMA.wake_workers(array(
      select distinct b.queue from unnest(v_before) b
      where b.lease_no is not null and exists (select from :SCHEMA.concurrency_limit m
        where m.queue = b.queue)));
  end if;
  insert into :SCHEMA.tally (queue, at_ms, depth)
  select b.queue, v_now, - count(*) from unnest(v_before) b group by b.queue;
  perform :SCHEMA.trim_attempts(b.key) from unnest(v_before) b
  where b.state = 'running' and b.attempt::bigint + b.crash_attempt >= 49;
  return cardinality(v_before);
end;
$$;
comment on function :SCHEMA.cancel_jobs is
  'Cancels unfinished jobs. One that runs loses its lease, so whatever its holder writes next is rejected. '
  'Returns how many.';
revoke all on function :SCHEMA.cancel_jobs from public;
