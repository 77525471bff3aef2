create or replace function :SCHEMA.backend_distinct_pools_queued()
returns setof text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
    -- From one queue to the next by index: the jobs in between are not touched.
    with recursive waiting as (
      select (select j.queue from :SCHEMA.job j where j.stage = 0 order by j.queue limit 1) as queue
      union all
      select (select j.queue from :SCHEMA.job j where j.stage = 0
        and j.queue > w.queue order by j.queue limit 1)
      from waiting w
      where w.queue is not null
    )
    select p.queue
    from (select l.queue from :SCHEMA.lane l union select w.queue from waiting w) p
    where not exists (select from :SCHEMA.queue q where q.queue = p.queue and q.paused)
      and (
        exists (
          select from :SCHEMA.job j
          where j.queue = p.queue and j.stage = 1 and j.state = 'available'
            and not :SCHEMA.is_quarantined(j)
          offset 0)
        or exists (
          select from :SCHEMA.job j
          where j.queue = p.queue and j.stage = 0 and j.scheduled_at_ms <= :SCHEMA.now_ms()
            and not :SCHEMA.is_quarantined(j)
          offset 0))
    order by p.queue;
end;
$$;
comment on function :SCHEMA.backend_distinct_pools_queued is
  'Pools in which a job could be claimed now, by name.';
revoke all on function :SCHEMA.backend_distinct_pools_queued from public;
