create or replace function :SCHEMA.backend_distinct_pools_queued()
returns setof text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
    select p.queue
    from (
      select distinct l.queue from :SCHEMA.lane l
      union
      select j.queue from :SCHEMA.job j where j.stage = 0 and j.scheduled_at_ms <= :SCHEMA.now_ms()) p
    where exists (select from :SCHEMA.backend_list_queued(p.queue, 1))
    order by p.queue;
end;
$$;
comment on function :SCHEMA.backend_distinct_pools_queued is
  'Pools in which a job could be claimed now, by name.';
revoke all on function :SCHEMA.backend_distinct_pools_queued from public;
