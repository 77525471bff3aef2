create or replace function :SCHEMA.utf8_text(bytes bytea)
returns text
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return convert_from(utf8_text.bytes, 'UTF8');
exception when character_not_in_repertoire or untranslatable_character then
  return null;
end;
$$;
comment on function :SCHEMA.utf8_text is 'The bytes as text; null where they are not UTF-8.';
revoke all on function :SCHEMA.utf8_text from public;
