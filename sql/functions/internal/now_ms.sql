create or replace function :SCHEMA.now_ms()
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
      + coalesce((select c.offset_ms from :SCHEMA.test_clock c), 0));
end;
$$;
comment on function :SCHEMA.now_ms is
  'The store''s clock in milliseconds since the epoch, read when called. A row in test_clock moves it; only '
  'tests have one.';
revoke all on function :SCHEMA.now_ms from public;
