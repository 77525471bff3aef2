create or replace function :SCHEMA.near_ceiling(
  ceiling :SCHEMA.concurrency_limit, demands :SCHEMA.demand[], earlier :SCHEMA.demand[]
)
returns text[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
begin
  return array(
    select d.partition_key
    from (
      select n.partition_key, sum(n.jobs) as jobs
      from unnest(demands || earlier) n
      where n.queue = ceiling.queue
      group by n.partition_key) d
    where d.jobs + coalesce((
      select sum(cardinality(l.keys)) from :SCHEMA.lease l
      where l.queue = ceiling.queue and l.partition_key = d.partition_key), 0) > ceiling.max_concurrent);
end;
$$;
comment on function :SCHEMA.near_ceiling is
  'The partitions in which these jobs might not fit under the ceiling: as if every job of a lease were still '
  'running, which needs no look at the jobs.';
revoke all on function :SCHEMA.near_ceiling from public;
