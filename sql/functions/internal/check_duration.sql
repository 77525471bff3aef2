create or replace function :SCHEMA.check_duration(field text, value bigint)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return :SCHEMA.check_range(field, value, 1, 315576000000000);
end;
$$;
comment on function :SCHEMA.check_duration is
  'The duration in ms, or HR007 invalid unless it is 1 ms to 10,000 years.';
revoke all on function :SCHEMA.check_duration from public;
