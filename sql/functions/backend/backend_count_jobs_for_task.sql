create or replace function :SCHEMA.backend_count_jobs_for_task(task_name text, status text default null)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
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
      -- By the indexes of unfinished jobs, however many finished ones there are.
      select count(*)
      from (
        select j.kind, j.state from :SCHEMA.job j where j.stage = 1 and j.counted is null
        union all
        select j.kind, j.state from :SCHEMA.job j where j.stage = 0 and j.counted is null
        union all
        select j.kind, j.state from :SCHEMA.job j where j.stage = -1 and j.counted is null) j
      where j.kind = backend_count_jobs_for_task.task_name and j.state = any (v_states))
    + (
      select count(*) from :SCHEMA.job j
      where j.kind = backend_count_jobs_for_task.task_name and j.stage = 2 and j.state = any (v_states));
end;
$$;
comment on function :SCHEMA.backend_count_jobs_for_task is
  'How many jobs of a task there are, of one status or all; exact. Errors: HR007.';
revoke all on function :SCHEMA.backend_count_jobs_for_task from public;
