create or replace function :SCHEMA.backend_get_task_config(task_name text)
returns setof :SCHEMA.task_config
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_task_name(backend_get_task_config.task_name);
  return query select c.* from :SCHEMA.task_config c where c.task_name = backend_get_task_config.task_name;
end;
$$;
comment on function :SCHEMA.backend_get_task_config is
  'The stored policies of a task; no row where none are. Errors: HR007.';
revoke all on function :SCHEMA.backend_get_task_config from public;
