create or replace function :SCHEMA.backend_note_revision(stored :SCHEMA.task_config)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  -- Now: whoever else was writing the row has gone before.
  stored.updated_at_ms := :SCHEMA.now_ms();
  update :SCHEMA.task_config c set updated_at_ms = stored.updated_at_ms where c.task_name = stored.task_name;
  insert into :SCHEMA.task_config_revision select stored.*;
  delete from :SCHEMA.task_config_revision r
  where r.task_name = stored.task_name and r.revision <= stored.revision - 100;
end;
$$;
comment on function :SCHEMA.backend_note_revision is
  'Notes when the policies of a task, which the caller has just written, were stored, and keeps a copy.';
revoke all on function :SCHEMA.backend_note_revision from public;
