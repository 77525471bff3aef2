create or replace function :SCHEMA.set_failed_retention(queue text, retention_ms bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_queue text := :SCHEMA.queue_name(set_failed_retention.queue);
begin
  perform :SCHEMA.check_duration('retention_ms', set_failed_retention.retention_ms);
  insert into :SCHEMA.queue (queue, failed_retention_ms)
  values (v_queue, set_failed_retention.retention_ms)
  on conflict (queue) do update set failed_retention_ms = excluded.failed_retention_ms;
end;
$$;
comment on function :SCHEMA.set_failed_retention is
  'How long, in ms, a queue''s jobs without a retention of their own stay after they ended badly; a week '
  'without a setting. Jobs that have ended already keep their time. Errors: HR007.';
revoke all on function :SCHEMA.set_failed_retention from public;
