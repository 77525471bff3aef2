create or replace function :SCHEMA.backend_task_run_stats(task_name text)
returns table (runs_total bigint, success_count bigint)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_task_name(backend_task_run_stats.task_name);
  return query
    select count(*), count(*) filter (where a.outcome = 'success')
    from :SCHEMA.attempt a
    where a.kind = backend_task_run_stats.task_name and a.started_at_ms is not null;
end;
$$;
comment on function :SCHEMA.backend_task_run_stats is
  'Runs of a task and how many succeeded, in one snapshot; exact. Errors: HR007.';
revoke all on function :SCHEMA.backend_task_run_stats from public;
