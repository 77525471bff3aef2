create or replace function :SCHEMA.drop_archive_months()
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
  v_last text := to_char(to_timestamp(:SCHEMA.now_ms() / 1000) at time zone 'UTC' - interval '1 month 1 day',
    'YYYYMM');
  v_name text;
  v_used boolean;
begin
  for v_name in
    select c.relname
    from pg_class p
    join pg_namespace n on n.oid = p.relnamespace
    join pg_inherits i on i.inhparent = p.oid
    join pg_class c on c.oid = i.inhrelid
    where n.nspname = :SCHEMA_LITERAL and p.relname = 'job_archive' and c.relname ~ '^job_archive_\d{6}$'
      and right(c.relname, 6) <= v_last
    order by c.relname
  loop
    execute format('select exists (select from %I.%I)', :SCHEMA_LITERAL, v_name) into v_used;
    continue when v_used;
    begin
      -- The parent first, as everybody who reads or writes the archive. Who holds it is not waited for long,
      -- because others wait behind us: the next run tries again.
      lock table only :SCHEMA.job_archive in access exclusive mode;
      execute format('lock table %I.%I in access exclusive mode', :SCHEMA_LITERAL, v_name);
      execute format('select exists (select from %I.%I)', :SCHEMA_LITERAL, v_name) into v_used;
      if not v_used then
        execute format('drop table %I.%I', :SCHEMA_LITERAL, v_name);
        return 1;
      end if;
    exception when lock_not_available then
      return 0;
    end;
  end loop;
  return 0;
end;
$$;
comment on function :SCHEMA.drop_archive_months is
  'Drops the partition of a month of the archive that has been over for a day and has no jobs left, one a '
  'call. Holds the archive, and nothing else, until the transaction ends. Returns how many it dropped.';
revoke all on function :SCHEMA.drop_archive_months from public;
