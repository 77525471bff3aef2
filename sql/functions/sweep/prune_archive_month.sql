create or replace function :SCHEMA.prune_archive_month(month text)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
  v_digits text := replace(prune_archive_month.month, '-', '');
  v_name text := 'job_archive_' || v_digits;
  v_end bigint;
  v_kept bigint;
  v_rows bigint;
begin
  if prune_archive_month.month is null or prune_archive_month.month !~ '^\d{4}-?(0[1-9]|1[0-2])$' then
    perform :SCHEMA.raise_invalid('month', 'is no month: '
      || coalesce(left(prune_archive_month.month, 40), 'null'), 'YYYY-MM or YYYYMM');
  end if;
  v_end := (extract(epoch from to_date(v_digits || '01',
    'YYYYMMDD')::timestamp + interval '1 month') * 1000)::bigint;
  if v_end > :SCHEMA.now_ms() then
    perform :SCHEMA.raise_invalid('month', 'has not ended: ' || prune_archive_month.month,
      'a month that is over, in UTC');
  end if;
  if not exists (
    select from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = :SCHEMA_LITERAL and c.relname = v_name and c.relkind = 'r')
  then
    return 0;
  end if;
  -- Only this month is locked, and nothing live writes to a month that is over.
  execute format('lock table %I.%I in access exclusive mode', :SCHEMA_LITERAL, v_name);
  execute format('select count(*), count(*) filter (where expires_at_ms > $1) from only %I.%I',
    :SCHEMA_LITERAL, v_name)
  into v_rows, v_kept
  using :SCHEMA.now_ms();
  if v_kept > 0 then
    perform :SCHEMA.raise_invalid('month', 'has ' || v_kept || ' jobs that are still to be kept',
      'none of them');
  end if;
  execute format('truncate table only %I.%I', :SCHEMA_LITERAL, v_name);
  return v_rows;
end;
$$;
comment on function :SCHEMA.prune_archive_month is
  'Empties the archive of a month (YYYY-MM or YYYYMM, UTC) that is over and in which no job is still to be '
  'kept; returns how many jobs that were. Waits at most 2 s for readers of that month and then fails with '
  '55P03: call it again. Errors: HR007.';
revoke all on function :SCHEMA.prune_archive_month from public;
