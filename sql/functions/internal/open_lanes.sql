create or replace function :SCHEMA.open_lanes(entries :SCHEMA.lane_entry[])
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
  if entries is null then
    return;
  end if;
  -- Only rows are added, none is locked: a producer that stays in its transaction stalls nobody.
  insert into :SCHEMA.lane (queue, partition_key, sticky_worker, class_key, priority)
  select e.queue, e.partition_key, e.sticky_worker, e.class_key, e.priority
  from unnest(entries) e
  where not exists (
    select from :SCHEMA.lane l
    where l.queue = e.queue and l.partition_key = e.partition_key and l.sticky_worker = e.sticky_worker
      and l.class_key = e.class_key and l.priority = e.priority and not l.dying
      -- Where turns are taken, a line that was empty gets a second row, which brings it to the front.
      and (l.served_at_ms = 0 or exists (
        select from :SCHEMA.job j
        where j.queue = e.queue and j.partition_key = e.partition_key and j.sticky_worker = e.sticky_worker
          and j.class_key = e.class_key and j.priority = e.priority and j.stage = 1
          and (j.scheduled_at_ms, j.key) >= (l.from_ms, l.from_key)
          and (j.scheduled_at_ms, j.key) < (e.at_ms, e.key) and j.state = 'available')));
  insert into :SCHEMA.lane_return (queue, partition_key, sticky_worker, class_key, priority, at_ms, key)
  select e.queue, e.partition_key, e.sticky_worker, e.class_key, e.priority, e.at_ms, e.key
  from unnest(entries) e
  where exists (
    select from :SCHEMA.lane l
    where l.queue = e.queue and l.partition_key = e.partition_key and l.sticky_worker = e.sticky_worker
      and l.class_key = e.class_key and l.priority = e.priority
      and (l.tip_ms, l.tip_key) >= (e.at_ms, e.key));
  perform :SCHEMA.wake_workers((select array_agg(distinct e.queue) from unnest(entries) e));
end;
$$;
comment on function :SCHEMA.open_lanes is
  'Tells the gate of jobs that became available: a lane for each line, a return where the gate is already '
  'past the job, and a wake-up. Call it after the jobs are written: advance_lane relies on that order.';
revoke all on function :SCHEMA.open_lanes from public;
