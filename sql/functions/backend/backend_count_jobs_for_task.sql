create or replace function :SCHEMA.backend_count_jobs_for_task(task_name text, status text default null)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_states :SCHEMA.job_state[] := :SCHEMA.backend_states(backend_count_jobs_for_task.status);
begin
  perform :SCHEMA.check_task_name(backend_count_jobs_for_task.task_name);
  -- Counted jobs have an index of their own; those that were there before the task's policies are looked for.
  return (
      select count(*) from :SCHEMA.job j
      where j.kind = backend_count_jobs_for_task.task_name and j.counted and j.stage < 2
        and j.state = any (v_states))
    + (
      select count(*) from :SCHEMA.job j
      where j.kind = backend_count_jobs_for_task.task_name and j.counted is null and j.stage < 2
        and j.state = any (v_states))
    + (
      select count(*) from :SCHEMA.job j
      where j.kind = backend_count_jobs_for_task.task_name and j.stage = 2 and j.state = any (v_states));
end;
$$;
comment on function :SCHEMA.backend_count_jobs_for_task is
  'How many jobs of a task there are, of one status or all; exact. Errors: HR007.';
revoke all on function :SCHEMA.backend_count_jobs_for_task from public;
