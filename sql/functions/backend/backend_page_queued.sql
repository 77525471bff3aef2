create or replace function :SCHEMA.backend_page_queued(
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
  v_unfinished bigint := :SCHEMA.unfinished_jobs();
  v_queues text[];
  v_most bigint := least(skip, 9000000000000000000) + max_rows;
  v_keys bigint[];
begin
  if v_unfinished > 5000 then
    -- No index has the waiting jobs in the order of keys. They are looked for among the oldest jobs of all,
    -- as far as that costs no more than to read all that wait.
    v_keys := array(
      select h.key
      from (select j.key, j.state from :SCHEMA.job j order by j.key limit v_unfinished) h
      where h.state = any (states)
      order by h.key
      offset skip limit max_rows);
    if cardinality(v_keys) = max_rows then
      return v_keys;
    end if;
  end if;
  v_queues := :SCHEMA.cold_queues(2147483647);
  return array(
    select l.key
    from (
      (select j.key from :SCHEMA.job j
       where j.stage = 1 and j.state = any (states) order by j.key + 0 limit v_most)
      union all
      (select h.key
       from unnest(v_queues) q(queue)
       cross join unnest(array[1, 2, 3]) w(shelf)
       cross join lateral (
         select j.key from :SCHEMA.job j
         where j.queue = q.queue and j.shelf = w.shelf and j.stage <> 1
         order by j.key
         limit v_most) h)) l
    order by l.key
    offset skip limit max_rows);
end;
$$;
comment on function :SCHEMA.backend_page_queued is
  'The keys of jobs in these unfinished states, oldest first, for backend_list_jobs: found among the oldest '
  'jobs of all, or, where more finished ones stand before them than jobs are unfinished, among those.';
revoke all on function :SCHEMA.backend_page_queued from public;
