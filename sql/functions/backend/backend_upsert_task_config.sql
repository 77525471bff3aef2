create or replace function :SCHEMA.backend_upsert_task_config(config json)
returns setof :SCHEMA.task_config
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_new :SCHEMA.task_config := :SCHEMA.backend_read_policy(config, null);
  v_stored :SCHEMA.task_config;
begin
  v_new.revision := 1;
  v_new.updated_at_ms := :SCHEMA.now_ms();
  insert into :SCHEMA.task_config as c select v_new.*
  on conflict (task_name) do update
    set priority = v_new.priority, pool = v_new.pool, max_attempts = v_new.max_attempts,
      base_delay_ms = v_new.base_delay_ms, backoff_multiplier = v_new.backoff_multiplier,
      max_delay_ms = v_new.max_delay_ms, max_in_flight = v_new.max_in_flight,
      max_enqueue_per_second = v_new.max_enqueue_per_second, idempotency_mode = v_new.idempotency_mode,
      retention_ms = v_new.retention_ms, revision = c.revision + 1
  returning * into v_stored;
  perform :SCHEMA.backend_note_revision(v_stored);
  return query select c.* from :SCHEMA.task_config c where c.task_name = v_new.task_name;
end;
$$;
comment on function :SCHEMA.backend_upsert_task_config is
  'Replaces the policies of a task, keeps what they were as a revision, and returns them as stored. Errors: '
  'HR007.';
revoke all on function :SCHEMA.backend_upsert_task_config from public;
