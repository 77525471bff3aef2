create or replace function :SCHEMA.check_zone(zone text)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A word without a slash may be an abbreviation, which sessions read differently; a name with digits behind
  -- a sign may be a POSIX rule, which any typing error can be.
  if zone in ('UTC', 'GMT') then
    return null;
  elsif octet_length(zone) <= 64 and (zone ~ '^[A-Z][A-Za-z]*(/[A-Z][A-Za-z_-]*)+$'
    or zone ~ '^Etc/GMT([+-]0|0|\+[1-9]|\+1[0-2]|-[1-9]|-1[0-4])$')
  then
    perform :SCHEMA.zone_offset(zone, 0);
    return zone;
  end if;
  perform :SCHEMA.raise_invalid('spec', 'has an unknown time zone: ' || :SCHEMA.cut_text(zone, 64),
    'UTC, or a name like Europe/Berlin');
exception when invalid_parameter_value then
  perform :SCHEMA.raise_invalid('spec', 'has an unknown time zone: ' || zone,
    'UTC, or a name like Europe/Berlin');
end;
$$;
comment on function :SCHEMA.check_zone is
  'The name of an IANA time zone as it is, null for UTC; raises HR007 for anything else. Abbreviations and '
  'POSIX rules are no names.';
revoke all on function :SCHEMA.check_zone from public;
