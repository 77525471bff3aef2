create or replace function :SCHEMA.backend_error_text(value text)
returns text
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  value := :SCHEMA.mask_secrets(value);
  return case when length(value) > 512 then left(value, 512) || '…' else value end;
end;
$$;
comment on function :SCHEMA.backend_error_text is
  'An error message as the backend surface stores it: secrets masked, cut to 512 characters.';
revoke all on function :SCHEMA.backend_error_text from public;
