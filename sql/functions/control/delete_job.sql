create or replace function :SCHEMA.delete_job(id text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
  v_job :SCHEMA.job := :SCHEMA.lock_job(delete_job.id);
begin
  perform :SCHEMA.check_state(v_job, 'deleted',
    '{pending,scheduled,available,retryable,completed,archived,cancelled,quarantined,undecodable}');
  perform :SCHEMA.remove_jobs(array[v_job.key]);
end;
$$;
comment on function :SCHEMA.delete_job is
  'Deletes a job that does not run, with its history; the archive gets no copy. Errors: HR006 not_found, '
  'HR007 where it runs: cancel it first, 55P03 where another transaction holds it for more than 2 s.';
revoke all on function :SCHEMA.delete_job from public;
