create or replace function :SCHEMA.backend_list_task_config_revisions(task_name text,
  max_rows integer default 100)
returns setof :SCHEMA.task_config
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_task_name(backend_list_task_config_revisions.task_name);
  perform :SCHEMA.check_max_rows(max_rows, 200);
  return query
    select r.* from :SCHEMA.task_config_revision r
    where r.task_name = backend_list_task_config_revisions.task_name
    order by r.revision desc
    limit max_rows;
end;
$$;
comment on function :SCHEMA.backend_list_task_config_revisions is
  'The policies that a task has had, newest first; the last 100 are kept. Errors: HR007.';
revoke all on function :SCHEMA.backend_list_task_config_revisions from public;
