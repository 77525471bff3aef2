create or replace function :SCHEMA.check_range(field text, value bigint, least_value bigint,
  greatest_value bigint)
returns void
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
end;
$$;
comment on function :SCHEMA.check_range is
  'Raises HR007 invalid unless the number is present and within its bounds.';
revoke all on function :SCHEMA.check_range from public;
