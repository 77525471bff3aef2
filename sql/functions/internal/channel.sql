create or replace function :SCHEMA.channel()
returns text
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select 'headrace_' || left(encode(sha256(convert_to(:SCHEMA_LITERAL, 'UTF8')), 'hex'), 32);
$$;
comment on function :SCHEMA.channel is
  'The notification channel of this install; its payloads are names of queues.';
revoke all on function :SCHEMA.channel from public;
