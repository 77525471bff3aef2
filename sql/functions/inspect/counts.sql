create or replace function :SCHEMA.counts(queue text default null)
returns table (state text, jobs bigint, approximate boolean)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  c_most integer := 50000;
  v_queues text[] := case when counts.queue is null then :SCHEMA.cold_queues(1001)
    else array[:SCHEMA.queue_name(counts.queue)] end;
begin
  if cardinality(v_queues) > 1000 then
    return query
      select e.state::text, count(s.state), true
      from unnest(enum_range(cast(null as :SCHEMA.job_state))) e(state)
      left join (select j.state from :SCHEMA.job j order by j.key desc limit c_most) s on s.state = e.state
      group by e.state
      order by e.state;
    return;
  end if;
  return query
    with cold as (
      select s.shelf, sum(c.jobs) as jobs
      from unnest(v_queues) q(queue)
      cross join generate_series(1, 8) s(shelf)
      cross join lateral (
        select count(*) as jobs
        from (
          select from :SCHEMA.job j
          where j.queue = q.queue and j.shelf = s.shelf and j.stage <> 1
          limit c_most + 1) n) c
      group by s.shelf
    ), line as (
      select o.state, count(*) as jobs, sum(count(*)) over () as counted
      from (
        select j.state from :SCHEMA.job j
        where j.stage = 1 and (counts.queue is null or j.queue = v_queues[1])
        limit c_most + 1) o
      group by o.state
    )
    select e.state::text, least(c_most, coalesce(c.jobs, l.jobs, 0))::bigint,
      coalesce(c.jobs > c_most, e.state in ('available', 'running')
        and coalesce((select max(n.counted) from line n), 0) > c_most)
    from unnest(enum_range(cast(null as :SCHEMA.job_state))) e(state)
    left join cold c on c.shelf = any (:SCHEMA.shelves_of(array[e.state::text]))
    left join line l on l.state = e.state
    order by e.state;
end;
$$;
comment on function :SCHEMA.counts is
  'Jobs per state, of one queue or of all: each exact up to 50,000, beyond that it says approximate. Jobs in '
  'line and running jobs are counted together up to 50,000. With more than 1,000 queues, the newest 50,000 '
  'jobs only. Errors: HR007.';
revoke all on function :SCHEMA.counts from public;
