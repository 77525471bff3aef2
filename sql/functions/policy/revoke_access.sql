create or replace function :SCHEMA.revoke_access(role text, duty text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
begin
  perform :SCHEMA.check_access(revoke_access.role, revoke_access.duty);
  -- As apply_grants does, and before anything is written: two of us would wait for each other.
  lock table :SCHEMA.granted in share row exclusive mode;
  delete from :SCHEMA.granted g where g.role = revoke_access.role and g.duty = revoke_access.duty;
  perform :SCHEMA.apply_grants(array[revoke_access.role]);
end;
$$;
comment on function :SCHEMA.revoke_access is
  'Takes a duty from a role; what its other duties open stays. A role without a duty has nothing. Errors: '
  'HR006 where there is no such role, HR007.';
revoke all on function :SCHEMA.revoke_access from public;
