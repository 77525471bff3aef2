create or replace function :SCHEMA.scoped_unique_key(kind text, raw bytea, scope text)
returns bytea
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when scope = 'global' then '\x0147'::bytea || raw
    else '\x014b'::bytea || int4send(octet_length(convert_to(kind, 'UTF8'))) || convert_to(kind, 'UTF8')
      || raw
  end;
end;
$$;
comment on function :SCHEMA.scoped_unique_key is
  'A unique key with its scope in front: the kind behind its length, or the mark of the global scope. No two '
  'scopes collide.';
revoke all on function :SCHEMA.scoped_unique_key from public;
