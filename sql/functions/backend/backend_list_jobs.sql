create or replace function :SCHEMA.backend_list_jobs(
  status text default null, skip bigint default 0, max_rows integer default 100
)
returns setof :SCHEMA.backend_job
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_states :SCHEMA.job_state[] := :SCHEMA.backend_states(backend_list_jobs.status);
  v_jobs :SCHEMA.job[];
begin
  perform :SCHEMA.check_range('offset', skip, 0, 9223372036854775807);
  perform :SCHEMA.check_range('limit', max_rows, 0, 10000);
  if backend_list_jobs.status in ('queued', 'running') then
    v_jobs := array(
      select j from :SCHEMA.job j
      where j.stage < 2 and j.state = any (v_states)
      order by j.enqueued_at_ms, j.key
      offset backend_list_jobs.skip limit backend_list_jobs.max_rows);
  else
    v_jobs := array(
      select j from :SCHEMA.job j
      where j.state = any (v_states)
      order by j.enqueued_at_ms, j.key
      offset backend_list_jobs.skip limit backend_list_jobs.max_rows);
  end if;
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
