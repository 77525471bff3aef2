create or replace function :SCHEMA.generated_key(id text)
returns bigint
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when length(id) = 17 and id ~ '^j[0-9a-f]+$' then ('x' || substr(id, 2))::bit(64)::bigint
  end;
end;
$$;
comment on function :SCHEMA.generated_key is
  'The key that a generated id stands for; null of an id that a caller has chosen.';
revoke all on function :SCHEMA.generated_key from public;
