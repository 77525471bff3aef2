create or replace function :SCHEMA.operator_cancel(id text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
  v_job :SCHEMA.job := :SCHEMA.lock_job(operator_cancel.id);
begin
  perform :SCHEMA.check_state(v_job, 'cancelled', '{pending,scheduled,available,running,retryable}');
  perform :SCHEMA.cancel_jobs(array[v_job.key]);
end;
$$;
comment on function :SCHEMA.operator_cancel is
  'Cancels an unfinished job. One that runs loses its lease: its holder''s next write is rejected, and its '
  'handler is to stop. Errors: HR006 not_found, HR007 where it has finished, 55P03 where another transaction '
  'holds the job for more than 2 s.';
revoke all on function :SCHEMA.operator_cancel from public;
