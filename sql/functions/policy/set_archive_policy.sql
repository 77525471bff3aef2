create or replace function :SCHEMA.set_archive_policy(queue text, retention_ms bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_duration('retention_ms', set_archive_policy.retention_ms);
  insert into :SCHEMA.archive_policy (queue, retention_ms)
  values (:SCHEMA.queue_name(set_archive_policy.queue), set_archive_policy.retention_ms)
  on conflict (queue) do update set retention_ms = excluded.retention_ms;
end;
$$;
comment on function :SCHEMA.set_archive_policy is
  'Has finished jobs of a queue copied to the archive when they are evicted, to be kept there for '
  'retention_ms: payload, headers and attempts, but no result, output or checkpoint. A job that succeeds '
  'without a retention is deleted at once, not evicted, and leaves no copy: give those that are to be '
  'archived one. What is in the archive keeps the time it came with. Errors: HR007.';
revoke all on function :SCHEMA.set_archive_policy from public;
