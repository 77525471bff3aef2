create or replace function :SCHEMA.simple_fields()
returns text[]
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select array['kind', 'payload', 'payload_base64', 'schema_version', 'queue', 'partition_key', 'rate_class',
    'priority', 'max_attempts', 'delay_ms', 'timeout_ms', 'retention_ms', 'headers'];
$$;
comment on function :SCHEMA.simple_fields is
  'The keys of simple jobs: those that most have, and that can collide with no other job.';
revoke all on function :SCHEMA.simple_fields from public;
