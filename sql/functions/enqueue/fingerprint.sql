create or replace function :SCHEMA.fingerprint(kind text, payload bytea)
returns text
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return encode(substr(sha256(
    :SCHEMA.length_prefixed(convert_to(fingerprint.kind, 'UTF8'))
    || :SCHEMA.length_prefixed(fingerprint.payload)), 1, 16), 'hex');
end;
$$;
comment on function :SCHEMA.fingerprint is
  'The content of a job as 32 lower-case hex digits: the first 16 bytes of the SHA-256 over kind and '
  'payload, each behind its length (32 bits, little endian).';
revoke all on function :SCHEMA.fingerprint from public;
