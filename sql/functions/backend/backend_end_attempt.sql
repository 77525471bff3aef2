create or replace function :SCHEMA.backend_end_attempt(job :SCHEMA.job, run :SCHEMA.attempt, status text,
  error text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if status = 'canceled' then
    perform :SCHEMA.cancel_jobs(array[job.key]);
  else
    perform :SCHEMA.backend_leave_running(job, run.run_id,
      case status when 'success' then 'success' else 'retry' end, error);
  end if;
end;
$$;
comment on function :SCHEMA.backend_end_attempt is
  'Ends the attempt of a job, which the caller has locked, as its run has ended.';
revoke all on function :SCHEMA.backend_end_attempt from public;
