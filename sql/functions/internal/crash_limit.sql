create or replace function :SCHEMA.crash_limit()
returns integer
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return 3;
end;
$$;
comment on function :SCHEMA.crash_limit is
  'How many workers a job may take down before its content is quarantined.';
revoke all on function :SCHEMA.crash_limit from public;
