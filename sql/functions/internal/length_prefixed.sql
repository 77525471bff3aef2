create or replace function :SCHEMA.length_prefixed(bytes bytea)
returns bytea
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return set_byte(set_byte(set_byte(set_byte('\x00000000'::bytea,
      0, octet_length(bytes) & 255), 1, (octet_length(bytes) >> 8) & 255),
      2, (octet_length(bytes) >> 16) & 255), 3, (octet_length(bytes) >> 24) & 255)
    || bytes;
end;
$$;
comment on function :SCHEMA.length_prefixed is 'The bytes behind their number, 32 bits little endian.';
revoke all on function :SCHEMA.length_prefixed from public;
