create or replace function :SCHEMA.now_ms()
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return :SCHEMA.clock_ms((select c.offset_ms from :SCHEMA.test_clock c));
end;
$$;
comment on function :SCHEMA.now_ms is
  'The store''s clock in milliseconds since the epoch, read when called. A row in test_clock moves it; only '
  'tests have one.';
revoke all on function :SCHEMA.now_ms from public;
