create or replace function :SCHEMA.backend_list_jobs(
  status text default null, skip bigint default 0, max_rows integer default 100
)
returns setof :SCHEMA.backend_job
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
  v_states :SCHEMA.job_state[] := :SCHEMA.backend_states(backend_list_jobs.status);
  v_most bigint;
  v_examined bigint;
  v_queued boolean;
  v_keys bigint[];
  v_jobs :SCHEMA.job[];
begin
  perform :SCHEMA.check_range('offset', skip, 0, 9223372036854775807);
  perform :SCHEMA.check_range('limit', max_rows, 0, 10000);
  v_most := least(skip, 9000000000000000000) + max_rows;
  if backend_list_jobs.status is null then
    v_keys := array(select j.key from :SCHEMA.job j order by j.key offset skip limit max_rows);
  elsif backend_list_jobs.status = 'running' and not exists (select from :SCHEMA.lease l offset 2000 limit 1)
  then
    v_keys := array(
      select j.key
      from :SCHEMA.lease l
      cross join lateral unnest(l.keys) k(key)
      cross join lateral (
        select o.key from :SCHEMA.job o where o.key = k.key and o.lease_no = l.lease_no offset 0) j
      order by j.key
      offset skip limit max_rows);
  elsif backend_list_jobs.status in ('queued', 'running') then
    v_queued := backend_list_jobs.status = 'queued';
    -- The oldest jobs of all, so far as that is near: where many wait they are soon found among them.
    v_examined := 5000 + 2 * least(v_most, 500000);
    if v_queued and v_most <= v_examined then
      v_keys := array(
        select h.key
        from (select j.key, j.state from :SCHEMA.job j order by j.key limit v_examined) h
        where h.state = any (v_states)
        order by h.key
        offset skip limit max_rows);
    end if;
    if cardinality(v_keys) < max_rows or v_keys is null then
      -- By the indexes of unfinished jobs, however many finished ones stand before them. That of jobs in line
      -- is not in the order of keys.
      v_keys := array(
        select l.key
        from (
          (select j.key from :SCHEMA.job j
           where j.stage = 1 and j.state = any (v_states) order by j.key + 0 limit v_most)
          union all
          (select h.key
           from unnest(:SCHEMA.cold_queues(10000)) q(queue)
           cross join unnest(array[1, 2, 3]) w(shelf)
           cross join lateral (
             select j.key from :SCHEMA.job j
             where j.queue = q.queue and j.shelf = w.shelf and j.stage <> 1
             order by j.key
             limit v_most) h
           where v_queued)) l
        order by l.key
        offset skip limit max_rows);
    end if;
  else
    v_keys := array(
      select s.key
      from unnest(:SCHEMA.cold_queues(10000)) q(queue)
      cross join unnest(:SCHEMA.shelves_of(cast(v_states as text[]))) h(shelf)
      cross join lateral (
        select j.key from :SCHEMA.job j
        where j.queue = q.queue and j.shelf = h.shelf and j.stage <> 1
        order by j.key
        limit v_most) s
      order by s.key
      offset skip limit max_rows);
  end if;
  v_jobs := array(
    select j
    from unnest(v_keys) with ordinality k(key, n)
    cross join lateral (select o.* from :SCHEMA.job o where o.key = k.key offset 0) j
    order by k.n);
  return query
    select s.* from generate_subscripts(v_jobs, 1) i(n)
    cross join lateral :SCHEMA.backend_show_job(v_jobs[i.n]) s
    order by i.n;
end;
$$;
comment on function :SCHEMA.backend_list_jobs is
  'Jobs, oldest first, of one status or all: skip so many, at most max_rows (0..10000). The order is total. '
  'Errors: HR007.';
revoke all on function :SCHEMA.backend_list_jobs from public;
