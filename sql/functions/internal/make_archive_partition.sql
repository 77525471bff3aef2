create or replace function :SCHEMA.make_archive_partition(month date)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := 'job_archive_' || to_char(make_archive_partition.month, 'YYYYMM');
  v_month timestamp := date_trunc('month', make_archive_partition.month::timestamp);
  v_from bigint := (extract(epoch from v_month) * 1000)::bigint;
  v_to bigint := (extract(epoch from v_month + interval '1 month') * 1000)::bigint;
begin
  for v_look in 1..2 loop
    if exists (
      select from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = :SCHEMA_LITERAL and c.relname = v_name)
    then
      return false;
    end if;
    -- One at a time, and then looked at again. Who reads or writes the archive is not held up.
    lock table only :SCHEMA.job_archive in share update exclusive mode;
  end loop;
  -- Attaching locks the parent against other changes of its shape only; evictions go on.
  execute format(
    'create table %1$I.%2$I (like %1$I.job_archive including all, check (evicted_at_ms >= %3$s and '
    'evicted_at_ms < %4$s))', :SCHEMA_LITERAL, v_name, v_from, v_to);
  execute format('alter table %1$I.job_archive attach partition %1$I.%2$I for values from (%3$s) to (%4$s)',
    :SCHEMA_LITERAL, v_name, v_from, v_to);
  return true;
end;
$$;
comment on function :SCHEMA.make_archive_partition is
  'Makes the partition of the archive for a month, in UTC; false where it exists.';
revoke all on function :SCHEMA.make_archive_partition from public;
