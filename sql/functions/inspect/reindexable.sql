create or replace function :SCHEMA.reindexable(name text)
returns setof text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_schema text := quote_ident(:SCHEMA_LITERAL);
  v_base text := regexp_replace(reindexable.name, '_cc(new|old)\d*$', '');
begin
  if not exists (select from :SCHEMA.index_health() h where h.name = v_base and not h.leftover) then
    perform :SCHEMA.raise_invalid('name', 'is no index of this install: '
      || coalesce(left(reindexable.name, 100), 'null'), 'a name that index_health shows');
  end if;
  return query
    select 'drop index concurrently if exists ' || v_schema || '.' || quote_ident(h.name)
    from :SCHEMA.index_health() h
    where h.leftover and regexp_replace(h.name, '_cc(new|old)\d*$', '') = v_base
    order by h.name;
  return next 'reindex index concurrently ' || v_schema || '.' || quote_ident(v_base);
end;
$$;
comment on function :SCHEMA.reindexable is
  'The statements that rebuild an index of this install while everything goes on, to be run one by one '
  'outside a transaction by the owner: leftovers of a cancelled run go first. Errors: HR007 where there is '
  'no such index.';
revoke all on function :SCHEMA.reindexable from public;
