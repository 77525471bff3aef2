create or replace function :SCHEMA.schema_version()
returns integer
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(max(m.version), 0) from :SCHEMA.schema_migration m;
$$;
comment on function :SCHEMA.schema_version is 'The number of the newest migration that this schema has.';
revoke all on function :SCHEMA.schema_version from public;
