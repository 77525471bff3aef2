create or replace function :SCHEMA.index_health()
returns table (
  name text, table_name text, bytes bigint, scans bigint, live_rows bigint, dead_rows bigint, valid boolean,
  leftover boolean
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select i.relname::text, t.relname::text, pg_relation_size(i.oid), coalesce(s.idx_scan, 0),
      coalesce(u.n_live_tup, 0), coalesce(u.n_dead_tup, 0), x.indisvalid and x.indisready,
        i.relname ~ '_cc(new|old)\d*$' and not x.indisvalid
    from pg_index x
    join pg_class i on i.oid = x.indexrelid and i.relkind = 'i'
    join pg_class t on t.oid = x.indrelid
    join pg_namespace n on n.oid = i.relnamespace
    left join pg_stat_all_indexes s on s.indexrelid = i.oid
    left join pg_stat_all_tables u on u.relid = t.oid
    where n.nspname = :SCHEMA_LITERAL
    order by t.relname, i.relname;
end;
$$;
comment on function :SCHEMA.index_health is
  'The indexes of this install: size, scans, rows of their table, whether each is valid. leftover: what a '
  'cancelled REINDEX CONCURRENTLY left behind; the next one (see reindexable) removes it.';
revoke all on function :SCHEMA.index_health from public;
