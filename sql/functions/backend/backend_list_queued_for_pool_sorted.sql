create or replace function :SCHEMA.backend_list_queued_for_pool_sorted(pool text, max_rows integer default 8)
returns setof :SCHEMA.backend_job
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_jobs :SCHEMA.job[];
begin
  perform :SCHEMA.check_text('pool', pool, 255);
  perform :SCHEMA.check_range('limit', max_rows, 0, 10000);
  v_jobs := array(select j from :SCHEMA.backend_list_queued(pool, max_rows) j);
  return query
    select s.* from generate_subscripts(v_jobs, 1) i(n)
    cross join lateral :SCHEMA.backend_show_job(v_jobs[i.n]) s
    order by i.n;
end;
$$;
comment on function :SCHEMA.backend_list_queued_for_pool_sorted is
  'Jobs of a pool that could be claimed now: due, not paused, not quarantined. By priority, then by when '
  'they came into line (created, or due again), then by age; at most max_rows. Errors: HR007.';
revoke all on function :SCHEMA.backend_list_queued_for_pool_sorted from public;
