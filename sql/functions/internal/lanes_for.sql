create or replace function :SCHEMA.lanes_for(jobs :SCHEMA.job[])
returns :SCHEMA.lane_entry[]
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select array_agg(cast(row(f.queue, f.partition_key, f.sticky_worker, f.class_key, f.priority,
    f.scheduled_at_ms, f.key)
    as :SCHEMA.lane_entry))
  from (
    select distinct on (j.queue, j.partition_key, j.sticky_worker, j.class_key, j.priority)
      j.queue, j.partition_key, j.sticky_worker, j.class_key, j.priority, j.scheduled_at_ms, j.key
    from unnest(lanes_for.jobs) j
    where j.state = 'available'
    order by j.queue, j.partition_key, j.sticky_worker, j.class_key, j.priority, j.scheduled_at_ms, j.key) f;
$$;
comment on function :SCHEMA.lanes_for is
  'What open_lanes has to be told of these jobs: the first place taken in each line.';
revoke all on function :SCHEMA.lanes_for from public;
