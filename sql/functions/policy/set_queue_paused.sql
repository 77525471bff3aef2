create or replace function :SCHEMA.set_queue_paused(queue text, paused boolean)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_queue text := :SCHEMA.queue_name(set_queue_paused.queue);
begin
  if set_queue_paused.paused is null then
    perform :SCHEMA.raise_invalid('paused', 'must be given', 'true, false');
  end if;
  insert into :SCHEMA.queue (queue, paused)
  values (v_queue, set_queue_paused.paused)
  on conflict (queue) do update set paused = excluded.paused;
  if set_queue_paused.paused then
    -- Every admission holds this lock from before it reads the flag: those that began earlier end first.
    lock table :SCHEMA.lease in share mode;
  else
    perform :SCHEMA.wake_workers(array[v_queue]);
  end if;
end;
$$;
comment on function :SCHEMA.set_queue_paused is
  'Pauses a queue or lets it go on. A paused queue takes jobs, and what runs runs on, but nothing of it is '
  'admitted: once this has returned and its transaction has committed, no claim of the queue commits any '
  'more. It waits for the admissions that are under way, at most 2 s, and then fails with 55P03: call it '
  'again. Errors: HR007.';
revoke all on function :SCHEMA.set_queue_paused from public;
