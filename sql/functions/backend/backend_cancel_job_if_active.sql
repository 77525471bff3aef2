create or replace function :SCHEMA.backend_cancel_job_if_active(job_id text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
  v_job :SCHEMA.job := :SCHEMA.lock_job(backend_cancel_job_if_active.job_id);
begin
  if v_job.stage < 2 then
    perform :SCHEMA.cancel_jobs(array[v_job.key]);
  end if;
end;
$$;
comment on function :SCHEMA.backend_cancel_job_if_active is
  'Cancels a job that has not finished; one that has is left as it is. The holder of a running one learns it '
  'at its next call. Errors: HR006 not_found, HR007, 55P03 where another transaction holds the job for more '
  'than 2 s.';
revoke all on function :SCHEMA.backend_cancel_job_if_active from public;
