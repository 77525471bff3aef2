create or replace function :SCHEMA.zone_offset(zone text, at_s bigint)
returns bigint
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select extract(epoch from timezone(zone_offset.zone, to_timestamp(at_s::double precision)))::bigint - at_s;
$$;
comment on function :SCHEMA.zone_offset is
  'By how many seconds the local time of a zone is ahead of UTC at an instant, in seconds since the epoch. '
  'Does not look at the session''s TimeZone.';
revoke all on function :SCHEMA.zone_offset from public;
