create or replace function :SCHEMA.check_access(role text, duty text)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if check_access.duty is null or not exists (select from :SCHEMA.doors() d where d.duty = check_access.duty)
    then
    perform :SCHEMA.raise_invalid('duty', 'is unknown: ' || coalesce(left(check_access.duty, 40), 'null'),
      'producer, worker, scheduler, operator, reader, reader_payload');
  end if;
  perform :SCHEMA.check_text('role', check_access.role, 63);
  if not exists (select from pg_roles r where r.rolname = check_access.role) then
    perform :SCHEMA.raise_error('HR006', 'there is no role ' || check_access.role, jsonb_build_object(
      'what', 'role', 'id', check_access.role));
  end if;
end;
$$;
comment on function :SCHEMA.check_access is
  'Raises HR007 for an unknown duty and HR006 for an unknown role; roles are never made.';
revoke all on function :SCHEMA.check_access from public;
