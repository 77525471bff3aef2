create or replace function :SCHEMA.promote_jobs(keys bigint[])
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
  v_lanes :SCHEMA.lane_entry[];
  v_moved bigint;
begin
  with moved as (
    update :SCHEMA.job j
    set state = 'available'
    where j.key = any (keys) and j.state in ('scheduled', 'retryable')
    returning j.key, j.queue, j.partition_key, j.sticky_worker, j.class_key, j.priority, j.scheduled_at_ms
  )
  select sum(e.n), array_agg(cast(row(e.queue, e.partition_key, e.sticky_worker, e.class_key, e.priority,
    e.at_ms, e.key) as :SCHEMA.lane_entry))
  into v_moved, v_lanes
  from (
    select m.queue, m.partition_key, m.sticky_worker, m.class_key, m.priority,
      min(m.scheduled_at_ms) as at_ms, min(m.key) as key, count(*) as n
    from moved m
    group by m.queue, m.partition_key, m.sticky_worker, m.class_key, m.priority) e;
  perform :SCHEMA.open_lanes(v_lanes);
  return coalesce(v_moved, 0);
end;
$$;
comment on function :SCHEMA.promote_jobs is
  'Makes waiting jobs, which the caller found due and locked, available. Returns how many.';
revoke all on function :SCHEMA.promote_jobs from public;
