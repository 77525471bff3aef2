create or replace function :SCHEMA.operation_states(action text)
returns text[]
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select case operation_states.action
    when 'retry' then '{archived,cancelled,undecodable}'::text[]
    when 'cancel' then '{pending,scheduled,available,running,retryable}'
    when 'promote' then '{pending}'
    when 'delete' then
      '{pending,scheduled,available,retryable,completed,archived,cancelled,quarantined,undecodable}'
    when 'delete_queue' then
      '{pending,scheduled,available,running,retryable,completed,archived,cancelled,quarantined,undecodable}'
  end;
$$;
comment on function :SCHEMA.operation_states is
  'The states that a bulk operation moves jobs from: those of the single move of the same name.';
revoke all on function :SCHEMA.operation_states from public;
