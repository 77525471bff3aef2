create or replace function :SCHEMA.move_test_clock(by_ms bigint)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  -- The year 9999.
  c_last_ms bigint := 253402300799999;
  v_offset_ms bigint;
begin
  select c.offset_ms into v_offset_ms from :SCHEMA.test_clock c for update;
  if not found then
    perform :SCHEMA.raise_invalid('schema', 'has no test clock: its time can''t be moved',
      'a schema for which use_test_clock() was called before its first job');
  end if;
  perform :SCHEMA.check_range('by_ms', by_ms, -c_last_ms, c_last_ms);
  perform :SCHEMA.check_range('now_ms', :SCHEMA.now_ms() + by_ms, 0, c_last_ms);
  if by_ms < 0 and (exists (select from :SCHEMA.job) or exists (select from :SCHEMA.duty)) then
    perform :SCHEMA.raise_invalid('by_ms', 'sets time back', 'not below 0 once there are jobs or duties');
  end if;
  update :SCHEMA.test_clock set offset_ms = v_offset_ms + by_ms;
  return :SCHEMA.now_ms();
end;
$$;
comment on function :SCHEMA.move_test_clock is
  'Moves the time of a schema for tests by so many milliseconds and returns the new now; with 0 it just '
  'reads. Time goes back only while there is nothing that remembers it. Only for the owner. Errors: HR007, '
  'also where use_test_clock was not called.';
revoke all on function :SCHEMA.move_test_clock from public;
