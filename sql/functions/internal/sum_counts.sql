create or replace function :SCHEMA.sum_counts(counts jsonb)
returns jsonb
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_object_agg(s.key, s.n), '{}')
  from (
    select e.key, sum(e.value::bigint) as n
    from jsonb_array_elements(counts) c(object)
    cross join lateral jsonb_each_text(c.object) e
    group by e.key) s;
$$;
comment on function :SCHEMA.sum_counts is 'The sum of a list of objects of counts, key by key.';
revoke all on function :SCHEMA.sum_counts from public;
