create or replace function :SCHEMA.grant_access(role text, duty text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform :SCHEMA.check_access(grant_access.role, grant_access.duty);
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
