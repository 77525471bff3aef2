create or replace function :SCHEMA.backend_list_queued(pool text, max_rows integer)
returns setof :SCHEMA.job
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  if exists (select from :SCHEMA.queue q where q.queue = backend_list_queued.pool and q.paused) then
    return;
  end if;
  return query
    select (c.job).*
    from (
      select w as job from :SCHEMA.line l
      cross join lateral (
        select j.* from :SCHEMA.job j
        where j.queue = l.queue and j.line = l.line and j.partition_key = l.partition_key
          and j.sticky_worker = l.sticky_worker and j.class_key = l.class_key and j.priority = l.priority
          and j.stage = 1 and j.state = 'available' and not :SCHEMA.is_quarantined(j)
        order by j.scheduled_at_ms, j.key
        limit backend_list_queued.max_rows) w
      where l.queue = backend_list_queued.pool
      union all
      select d as job from (
        select j.* from :SCHEMA.job j
        where j.queue = backend_list_queued.pool and j.stage = 0 and j.scheduled_at_ms <= :SCHEMA.now_ms()
          and not :SCHEMA.is_quarantined(j)
        order by j.scheduled_at_ms, j.key
        limit 10000) d) c
    order by (c.job).priority desc, (c.job).scheduled_at_ms, (c.job).key
    limit backend_list_queued.max_rows;
end;
$$;
comment on function :SCHEMA.backend_list_queued is
  'Jobs of a pool that could be claimed now, in the order in which the gate takes them from one partition.';
revoke all on function :SCHEMA.backend_list_queued from public;
