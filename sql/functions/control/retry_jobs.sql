create or replace function :SCHEMA.retry_jobs(keys bigint[])
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_now bigint := :SCHEMA.now_ms();
  v_moved :SCHEMA.job[];
begin
  with moved as (
    update :SCHEMA.job j
    set state = 'available', scheduled_at_ms = v_now, finalized_at_ms = null, evict_at_ms = null
    where j.key = any (keys) and j.state in ('archived', 'cancelled', 'undecodable')
    returning j.*
  )
  select array_agg(cast(m as :SCHEMA.job)) into v_moved from moved m;
  insert into :SCHEMA.tally (queue, at_ms, depth)
  select m.queue, v_now, count(*) from unnest(v_moved) m group by m.queue;
  -- An end that spends no attempt, and a retry, may follow each other any number of times.
  perform :SCHEMA.trim_attempts(m.key) from unnest(v_moved) m;
  perform :SCHEMA.open_lanes(:SCHEMA.lanes_for(v_moved));
  return coalesce(cardinality(v_moved), 0);
end;
$$;
comment on function :SCHEMA.retry_jobs is
  'Makes jobs that ended badly, which the caller has locked, available at once; attempts are kept. A unique '
  'key that was taken again is a unique violation.';
revoke all on function :SCHEMA.retry_jobs from public;
