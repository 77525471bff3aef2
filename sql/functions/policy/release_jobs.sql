create or replace function :SCHEMA.release_jobs(keys bigint[])
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
    set state = 'available', scheduled_at_ms = v_now, finalized_at_ms = null, evict_at_ms = null,
      quarantined_as = null
    where j.key = any (keys) and j.state = 'quarantined'
    returning j.*
  )
  select array_agg(cast(m as :SCHEMA.job)) into v_moved from moved m;
  insert into :SCHEMA.tally (queue, at_ms, depth)
  select m.queue, v_now, count(*) from unnest(v_moved) m group by m.queue;
  perform :SCHEMA.open_lanes(:SCHEMA.lanes_for(v_moved));
  return coalesce(cardinality(v_moved), 0);
end;
$$;
comment on function :SCHEMA.release_jobs is
  'Makes quarantined jobs, which the caller has locked, available; crash_attempt is kept. A unique key that '
  'was taken again is a unique violation.';
revoke all on function :SCHEMA.release_jobs from public;
