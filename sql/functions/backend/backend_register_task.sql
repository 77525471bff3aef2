create or replace function :SCHEMA.backend_register_task(config json)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_new :SCHEMA.task_config := :SCHEMA.backend_read_policy(config, null);
begin
  v_new.revision := 1;
  v_new.updated_at_ms := 0;
  insert into :SCHEMA.task_config select v_new.* on conflict do nothing;
  if not found then
    return false;
  end if;
  perform :SCHEMA.backend_note_revision(v_new);
  return true;
end;
$$;
comment on function :SCHEMA.backend_register_task is
  'Stores the policies of a task where none are stored yet, and never over what an operator set. True where '
  'it did. Errors: HR007.';
revoke all on function :SCHEMA.backend_register_task from public;
