create or replace function :SCHEMA.cut_text(value text, max_bytes integer)
returns text
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bytes bytea;
  v_end integer := max_bytes;
begin
  if octet_length(value) <= max_bytes then
    return value;
  end if;
  v_bytes := convert_to(value, 'UTF8');
  -- A byte 10xxxxxx continues a character: step back to the first byte of the one that does not fit.
  while v_end > 0 and (get_byte(v_bytes, v_end) & 192) = 128 loop
    v_end := v_end - 1;
  end loop;
  return convert_from(substr(v_bytes, 1, v_end), 'UTF8');
end;
$$;
comment on function :SCHEMA.cut_text is 'The text cut to a number of bytes, never inside a character.';
revoke all on function :SCHEMA.cut_text from public;
