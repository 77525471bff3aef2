create or replace function :SCHEMA.backend_revert_job_to_queued(job_id text, run_id text default null)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
  v_job :SCHEMA.job := :SCHEMA.lock_job(backend_revert_job_to_queued.job_id);
begin
  if v_job.state = 'running' then
    perform :SCHEMA.backend_leave_running(v_job, backend_revert_job_to_queued.run_id, 'rate_limited', null);
  end if;
end;
$$;
comment on function :SCHEMA.backend_revert_job_to_queued is
  'Puts a running job back into its place in line, no attempt spent: for its holder, who shows its run_id, '
  'or, as a crash, once its lease has expired. A job that does not run is left as it is. Errors: HR005 '
  'lease_rejected where somebody else holds it, HR006 not_found, HR007, 55P03 where another transaction '
  'holds its row for more than 2 s.';
revoke all on function :SCHEMA.backend_revert_job_to_queued from public;
