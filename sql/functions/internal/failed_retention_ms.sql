create or replace function :SCHEMA.failed_retention_ms(queue text)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(
    (select q.failed_retention_ms from :SCHEMA.queue q where q.queue = failed_retention_ms.queue), 604800000);
end;
$$;
comment on function :SCHEMA.failed_retention_ms is
  'How long, in ms, a job without a retention of its own stays after it ended badly: what its queue says, '
  'else a week.';
revoke all on function :SCHEMA.failed_retention_ms from public;
