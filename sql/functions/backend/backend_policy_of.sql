create or replace function :SCHEMA.backend_policy_of(task_name text)
returns :SCHEMA.task_config
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_policy :SCHEMA.task_config;
begin
  select c.* into v_policy from :SCHEMA.task_config c where c.task_name = backend_policy_of.task_name;
  if not found then
    return :SCHEMA.backend_read_policy('{}', backend_policy_of.task_name);
  end if;
  return v_policy;
end;
$$;
comment on function :SCHEMA.backend_policy_of is 'The stored policies of a task, or the defaults.';
revoke all on function :SCHEMA.backend_policy_of from public;
