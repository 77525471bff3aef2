create or replace function :SCHEMA.backend_page_finished(
  states :SCHEMA.job_state[], skip bigint, max_rows integer
)
returns bigint[]
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
  v_most bigint := least(skip, 9000000000000000000) + max_rows;
begin
  return array(
    select s.key
    from unnest(:SCHEMA.cold_queues(2147483647)) q(queue)
    cross join unnest(:SCHEMA.shelves_of(cast(states as text[]))) h(shelf)
    cross join lateral (
      select j.key from :SCHEMA.job j
      where j.queue = q.queue and j.shelf = h.shelf and j.stage <> 1
      order by j.key
      limit v_most) s
    order by s.key
    offset skip limit max_rows);
end;
$$;
comment on function :SCHEMA.backend_page_finished is
  'The keys of jobs in these finished states, oldest first, for backend_list_jobs: the oldest of each queue '
  'and state, merged.';
revoke all on function :SCHEMA.backend_page_finished from public;
