create or replace function :SCHEMA.check_range(field text, value bigint, least_value bigint,
  greatest_value bigint)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if value is null then
    perform :SCHEMA.raise_invalid(field, 'must be given', least_value || '..' || greatest_value);
  elsif value not between least_value and greatest_value then
    perform :SCHEMA.raise_invalid(field, 'is out of bounds: ' || value, least_value || '..'
      || greatest_value);
  end if;
  return value;
end;
$$;
comment on function :SCHEMA.check_range is
  'The number, or HR007 invalid unless it is present and within its bounds.';
revoke all on function :SCHEMA.check_range from public;
