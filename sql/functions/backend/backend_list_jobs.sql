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
  v_keys bigint[];
  v_jobs :SCHEMA.job[];
begin
  perform :SCHEMA.check_range('offset', skip, 0, 9223372036854775807);
  perform :SCHEMA.check_range('limit', max_rows, 0, 10000);
  v_keys := case
    when backend_list_jobs.status is null then array(
      select j.key from :SCHEMA.job j order by j.key offset skip limit max_rows)
    when backend_list_jobs.status = 'running' then :SCHEMA.backend_page_running(skip, max_rows)
    when backend_list_jobs.status = 'queued' then :SCHEMA.backend_page_queued(v_states, skip, max_rows)
    else :SCHEMA.backend_page_finished(v_states, skip, max_rows)
  end;
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
  'What a page costs grows with skip. That of a status does not grow with the jobs of other statuses, but '
  'for two: a page of queued jobs reads the finished ones that are older, or all unfinished ones where those '
  'are fewer; one of running jobs what was claimed within a lease, or all unfinished ones where those are '
  'fewer. Errors: HR007.';
revoke all on function :SCHEMA.backend_list_jobs from public;
