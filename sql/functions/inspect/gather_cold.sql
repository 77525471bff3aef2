create or replace function :SCHEMA.gather_cold(
  queues text[], shelves smallint[], before_key bigint, most integer
)
returns :SCHEMA.found_jobs
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_variable
declare
  v_found :SCHEMA.found_jobs;
begin
  select array_agg(k.key), max(g.lowest) filter (where g.jobs = most)
  into v_found.keys, v_found.before_key
  from unnest(queues) q(queue)
  cross join unnest(shelves) s(shelf)
  cross join lateral (
    select array_agg(h.key) as keys, min(h.key) as lowest, count(*) as jobs
    from (
      select j.key from :SCHEMA.job j
      where j.queue = q.queue and j.shelf = s.shelf and j.stage <> 1 and j.key < before_key
      order by j.key desc
      limit most) h) g
  left join lateral unnest(g.keys) k(key) on true;
  return v_found;
end;
$$;
comment on function :SCHEMA.gather_cold is
  'Jobs of these queues that wait or have finished, the newest of each queue and state, at most so many of '
  'each. before_key is the key from which on downwards some are missing.';
revoke all on function :SCHEMA.gather_cold from public;
