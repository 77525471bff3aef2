create or replace function :SCHEMA.backend_note_enqueue(policy :SCHEMA.task_config, at_ms bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_number bigint;
begin
  update :SCHEMA.task_limit l set enqueued = l.enqueued + 1
  where l.task_name = policy.task_name
  returning l.enqueued into v_number;
  insert into :SCHEMA.enqueue_window (task_name, no, at_ms)
    values (policy.task_name, v_number, backend_note_enqueue.at_ms);
  -- What is older than a second limits nobody any more, whatever the limit is.
  delete from :SCHEMA.enqueue_window w
  where w.task_name = policy.task_name and w.no <= v_number - policy.max_enqueue_per_second
    and w.at_ms < backend_note_enqueue.at_ms - 2000;
end;
$$;
comment on function :SCHEMA.backend_note_enqueue is
  'Numbers an enqueue of a task whose row in task_limit the caller has locked.';
revoke all on function :SCHEMA.backend_note_enqueue from public;
