create or replace function :SCHEMA.set_history_policy(queue text, keep text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_queue text := :SCHEMA.queue_name(set_history_policy.queue);
begin
  if set_history_policy.keep is null or set_history_policy.keep not in ('failures', 'all', 'none') then
    perform :SCHEMA.raise_invalid('keep', 'is unknown', 'failures, all, none');
  end if;
  insert into :SCHEMA.queue (queue, history)
  values (v_queue, set_history_policy.keep)
  on conflict (queue) do update set history = excluded.history;
end;
$$;
comment on function :SCHEMA.set_history_policy is
  'Which attempts a queue''s jobs keep in their history, from now on: failures (and what has logs; the '
  'default), all, or none. At most 50 a job. Errors: HR007.';
revoke all on function :SCHEMA.set_history_policy from public;
