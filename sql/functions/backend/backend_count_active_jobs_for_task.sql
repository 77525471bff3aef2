create or replace function :SCHEMA.backend_count_active_jobs_for_task(task_name text)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return :SCHEMA.backend_count_jobs_for_task(task_name,
    'queued') + :SCHEMA.backend_count_jobs_for_task(task_name, 'running');
end;
$$;
comment on function :SCHEMA.backend_count_active_jobs_for_task is
  'How many unfinished jobs of a task there are, queued and running; exact. Errors: HR007.';
revoke all on function :SCHEMA.backend_count_active_jobs_for_task from public;
