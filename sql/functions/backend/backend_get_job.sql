create or replace function :SCHEMA.backend_get_job(job_id text)
returns setof :SCHEMA.backend_job
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('job_id', backend_get_job.job_id, 255);
  return query
    select s.* from :SCHEMA.job j cross join lateral :SCHEMA.backend_show_job(j) s
    where j.key = :SCHEMA.job_key(backend_get_job.job_id);
end;
$$;
comment on function :SCHEMA.backend_get_job is 'A job by its id; no row where there is none. Errors: HR007.';
revoke all on function :SCHEMA.backend_get_job from public;
