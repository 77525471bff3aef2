create or replace function :SCHEMA.clock_ms(offset_ms bigint)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return floor(extract(epoch from clock_timestamp()) * 1000)::bigint + coalesce(offset_ms, 0);
end;
$$;
comment on function :SCHEMA.clock_ms is
  'What now_ms does for a caller who has read the row of test_clock: the time in milliseconds since the '
  'epoch, moved by offset_ms.';
revoke all on function :SCHEMA.clock_ms from public;
