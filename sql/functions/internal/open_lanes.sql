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
declare
  v_one :SCHEMA.lane_entry;
  v_missing :SCHEMA.lane_entry[];
  v_passed :SCHEMA.lane_entry[];
  v_queues text[];
begin
  if entries is null then
    return;
  end if;
  if cardinality(entries) = 1 then
    -- The usual case by a short question: the line is there, takes no turns, and the gate is not past the
    -- job.
    v_one := entries[1];
    if exists (
        select from :SCHEMA.lane n
        where n.queue = v_one.queue and n.partition_key = v_one.partition_key
          and n.sticky_worker = v_one.sticky_worker and n.class_key = v_one.class_key
          and n.priority = v_one.priority and not n.dying and n.served_at_ms = 0)
      and not exists (
        select from :SCHEMA.lane n
        where n.queue = v_one.queue and n.partition_key = v_one.partition_key
          and n.sticky_worker = v_one.sticky_worker and n.class_key = v_one.class_key
          and n.priority = v_one.priority and (n.tip_ms, n.tip_key) >= (v_one.at_ms, v_one.key))
    then
      perform :SCHEMA.wake_workers(array[v_one.queue]);
      return;
    end if;
  end if;
  select array_agg(e) filter (where l.open is not true), array_agg(e) filter (where l.passed),
    array_agg(distinct e.queue)
  into v_missing, v_passed, v_queues
  from unnest(entries) e
  cross join lateral (
    select
      -- Where turns are taken, a line that was empty gets a second row, which brings it to the front.
      bool_or(not n.dying and (n.served_at_ms = 0 or exists (
        select from :SCHEMA.job j
        where j.queue = e.queue and j.line = n.line and j.partition_key = e.partition_key
          and j.sticky_worker = e.sticky_worker
          and j.class_key = e.class_key and j.priority = e.priority and j.stage = 1
          and (j.scheduled_at_ms, j.key) >= (n.from_ms, n.from_key)
          and (j.scheduled_at_ms, j.key) < (e.at_ms, e.key) and j.state = 'available'))) as open,
      bool_or((n.tip_ms, n.tip_key) >= (e.at_ms, e.key)) as passed
    from :SCHEMA.lane n
    where n.queue = e.queue and n.partition_key = e.partition_key and n.sticky_worker = e.sticky_worker
      and n.class_key = e.class_key and n.priority = e.priority) l;
  -- Only rows are added, none is locked: a producer that stays in its transaction stalls nobody.
  if v_missing is not null then
    insert into :SCHEMA.lane (queue, partition_key, sticky_worker, class_key, rate_classes, priority)
    select e.queue, e.partition_key, e.sticky_worker, e.class_key, :SCHEMA.class_names(e.class_key),
      e.priority
    from unnest(v_missing) e;
  end if;
  if v_passed is not null then
    insert into :SCHEMA.lane_return (queue, partition_key, sticky_worker, class_key, priority, at_ms, key)
    select e.queue, e.partition_key, e.sticky_worker, e.class_key, e.priority, e.at_ms, e.key
    from unnest(v_passed) e;
  end if;
  perform :SCHEMA.wake_workers(v_queues);
end;
$$;
comment on function :SCHEMA.open_lanes is
  'Tells the gate of jobs that became available: a lane for each line, a return where the gate is already '
  'past the job, and a wake-up. Call it after the jobs are written: advance_lane relies on that order.';
revoke all on function :SCHEMA.open_lanes from public;
