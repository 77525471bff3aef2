create or replace function :SCHEMA.backend_job_task(job json)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform :SCHEMA.check_keys('job', job,
    '{job_id,task_name,actor_json,params_json,priority,pool,status,idempotency_key,'
    'signature_hash,attempt,run_id,delay_ms}');
  return job ->> 'task_name';
end;
$$;
comment on function :SCHEMA.backend_job_task is
  'The task of a job of the backend surface; HR007 where the job is not readable or has an unknown field.';
revoke all on function :SCHEMA.backend_job_task from public;
