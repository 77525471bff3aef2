create or replace function :SCHEMA.declare_sleep(worker text, queues text[], for_ms bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('worker', declare_sleep.worker, 255);
  perform :SCHEMA.check_duration('for_ms', declare_sleep.for_ms);
  insert into :SCHEMA.sleeper as s (worker, queues, until_ms)
  values (declare_sleep.worker, coalesce(declare_sleep.queues, '{}'), :SCHEMA.now_ms() + declare_sleep.for_ms)
  on conflict (worker) do update set queues = excluded.queues, until_ms = excluded.until_ms;
end;
$$;
comment on function :SCHEMA.declare_sleep is
  'Asks to be notified, for for_ms, of jobs that become available in these queues (none named: in any). '
  'Declare, admit once more, then sleep: what came before the declaration is found by that admit. An admit '
  'that claims several jobs, or as many as it may, ends it. Errors: HR007.';
revoke all on function :SCHEMA.declare_sleep from public;
