create or replace function :SCHEMA.fresh_local(zone text, at_s bigint)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_earlier_s bigint := at_s - 93600;
  v_offset bigint;
  v_earlier_offset bigint;
begin
  if zone is null then
    return at_s;
  end if;
  v_offset := :SCHEMA.zone_offset(zone, at_s);
  v_earlier_offset := :SCHEMA.zone_offset(zone, v_earlier_s);
  if v_earlier_offset <= v_offset then
    return at_s + v_offset;
  end if;
  -- The clocks have been put back: what they show was seen before, until they are past where they stood.
  return greatest(at_s + v_offset, :SCHEMA.zone_change(zone, v_earlier_s, at_s) + v_earlier_offset);
end;
$$;
comment on function :SCHEMA.fresh_local is
  'The first local time, in seconds, that a clock of the zone shows for the first time at or after an '
  'instant, in seconds since the epoch. No zone: UTC.';
revoke all on function :SCHEMA.fresh_local from public;
