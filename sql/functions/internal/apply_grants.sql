create or replace function :SCHEMA.apply_grants(more_roles text[] default '{}')
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
  v_role text;
  v_door record;
begin
  -- One at a time: privileges of one object must not be changed by two transactions.
  lock table :SCHEMA.granted in share row exclusive mode;
  delete from :SCHEMA.granted g where not exists (select from pg_roles r where r.rolname = g.role);
  for v_role in
    select r.rolname from pg_roles r
    where r.rolname in (select g.role from :SCHEMA.granted g) or r.rolname = any (more_roles)
    order by r.rolname
  loop
    execute format('revoke all on all functions in schema %I from %I', :SCHEMA_LITERAL, v_role);
    execute format('revoke all on all tables in schema %I from %I', :SCHEMA_LITERAL, v_role);
    execute format('revoke all on schema %I from %I', :SCHEMA_LITERAL, v_role);
    continue when not exists (select from :SCHEMA.granted g where g.role = v_role);
    execute format('grant usage on schema %I to %I', :SCHEMA_LITERAL, v_role);
    for v_door in
      select distinct p.oid::regprocedure::text as name, 'execute on function' as privilege
      from :SCHEMA.granted g
      join :SCHEMA.doors() d on d.duty = g.duty
      join pg_proc p on p.proname = d.door
      join pg_namespace n on n.oid = p.pronamespace and n.nspname = :SCHEMA_LITERAL
      where g.role = v_role
      union
      select c.oid::regclass::text, 'select on'
      from :SCHEMA.granted g
      join :SCHEMA.doors() d on d.duty = g.duty
      join pg_class c on c.relname = d.door and c.relkind = 'v'
      join pg_namespace n on n.oid = c.relnamespace and n.nspname = :SCHEMA_LITERAL
      where g.role = v_role
      order by 1
    loop
      execute format('grant %s %s to %I', v_door.privilege, v_door.name, v_role);
    end loop;
  end loop;
end;
$$;
comment on function :SCHEMA.apply_grants is
  'Makes the privileges of every role that was granted a duty be exactly what its duties open. Run it at the '
  'end of each migration: a function that was made anew has lost its grants.';
revoke all on function :SCHEMA.apply_grants from public;
