create or replace function :SCHEMA.instant_ms(field text, value timestamptz)
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
    perform :SCHEMA.raise_invalid(field, 'is out of bounds: ' || value, '1970-01-01 to the year 11970');
  end if;
  return floor(v_ms);
end;
$$;
comment on function :SCHEMA.instant_ms is
  'A timestamp in milliseconds since the epoch; HR007 where it is before it, absurd or infinite.';
revoke all on function :SCHEMA.instant_ms from public;
