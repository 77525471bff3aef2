create or replace function :SCHEMA.make_archive_months()
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
  v_today timestamp := to_timestamp(:SCHEMA.now_ms() / 1000) at time zone 'UTC';
  v_made bigint := 0;
begin
  for v_ahead in 0..2 loop
    if :SCHEMA.make_archive_partition((v_today + make_interval(months => v_ahead))::date) then
      v_made := v_made + 1;
    end if;
  end loop;
  return v_made + :SCHEMA.drop_archive_months();
end;
$$;
comment on function :SCHEMA.make_archive_months is
  'Makes the partitions of the archive for this month and the next two that are missing, and drops a past '
  'one that is empty. Returns how many.';
revoke all on function :SCHEMA.make_archive_months from public;
