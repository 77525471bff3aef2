create or replace function :SCHEMA.interval_ms(field text, value interval)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ms numeric := extract(epoch from value) * 1000;
begin
  if v_ms < 0 or v_ms > 315576000000000 then
    perform :SCHEMA.raise_invalid(field, 'is out of bounds: ' || value, '0 to 10000 years');
  elsif v_ms > 0 and v_ms < 1 then
    perform :SCHEMA.raise_invalid(field, 'rounds to zero: ' || value, 'at least 1 ms');
  end if;
  return floor(v_ms);
end;
$$;
comment on function :SCHEMA.interval_ms is
  'An interval in whole milliseconds; HR007 where it is negative, absurd, or rounds to zero.';
revoke all on function :SCHEMA.interval_ms from public;
