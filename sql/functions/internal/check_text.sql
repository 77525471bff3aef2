create or replace function :SCHEMA.check_text(field text, value text, max_bytes integer,
  may_be_empty boolean default false)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if value is null or (value = '' and not may_be_empty) then
    perform :SCHEMA.raise_invalid(field, 'must not be empty', '1..' || max_bytes || ' bytes');
  elsif octet_length(value) > max_bytes then
    perform :SCHEMA.raise_invalid(field, 'is too long: ' || octet_length(value) || ' bytes', 'at most '
      || max_bytes || ' bytes');
  end if;
  return value;
end;
$$;
comment on function :SCHEMA.check_text is
  'The text, or HR007 invalid unless it is present and within its number of bytes.';
revoke all on function :SCHEMA.check_text from public;
