create or replace function :SCHEMA.grant_access(role text, duty text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
begin
  perform :SCHEMA.check_access(grant_access.role, grant_access.duty);
  -- As apply_grants does, and before anything is written: two of us would wait for each other.
  lock table :SCHEMA.granted in share row exclusive mode;
  insert into :SCHEMA.granted (role, duty) values (grant_access.role,
    grant_access.duty) on conflict do nothing;
  perform :SCHEMA.apply_grants();
end;
$$;
comment on function :SCHEMA.grant_access is
  'Gives an existing role a duty: producer, worker, scheduler, operator, reader (no payloads), '
  'reader_payload. It may then call the functions of that duty and nothing else, also after later '
  'migrations; tables stay closed. Errors: HR006 where there is no such role, HR007.';
revoke all on function :SCHEMA.grant_access from public;
