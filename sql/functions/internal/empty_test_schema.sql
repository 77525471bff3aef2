create or replace function :SCHEMA.empty_test_schema()
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
  v_table record;
  v_guarded boolean;
begin
  if not exists (select from :SCHEMA.test_clock) then
    perform :SCHEMA.raise_invalid('schema', 'has no test clock: it is not one for tests',
      'a schema for which use_test_clock() was called before its first job');
  end if;
  select t.tgenabled <> 'D' into v_guarded
  from pg_trigger t
  join pg_class c on c.oid = t.tgrelid and c.relname = 'job'
  join pg_namespace n on n.oid = c.relnamespace and n.nspname = :SCHEMA_LITERAL
  where t.tgname = 'job_transition';
  -- The guard knows no such move as this one.
  perform :SCHEMA.set_transition_guard(false);
  for v_table in
    select c.relname as name
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = :SCHEMA_LITERAL
    where c.relkind in ('r', 'p') and not c.relispartition
      -- What an install fills, and nothing changes.
      and c.relname not in ('schema_migration', 'transition')
    order by c.relname
  loop
    execute format('delete from %I.%I', :SCHEMA_LITERAL, v_table.name);
  end loop;
  perform :SCHEMA.use_test_clock();
  perform :SCHEMA.set_transition_guard(v_guarded);
  -- Last, since no rollback undoes it.
  perform setval(s.seqrelid, s.seqstart, false)
  from pg_sequence s
  join pg_class c on c.oid = s.seqrelid
  join pg_namespace n on n.oid = c.relnamespace and n.nspname = :SCHEMA_LITERAL;
end;
$$;
comment on function :SCHEMA.empty_test_schema is
  'Makes a schema for tests as it was when it was installed: no rows, numbers from the start, and the '
  'present time. Only for the owner, and only where use_test_clock() was called, which no schema that is in '
  'use can come to. Waits at most 2 s for who writes in it and then fails with 55P03. Errors: HR007.';
revoke all on function :SCHEMA.empty_test_schema from public;
