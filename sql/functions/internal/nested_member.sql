create or replace function :SCHEMA.nested_member(value jsonb, flat text[], lists text[])
returns text
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select e.key
  from jsonb_each(value) e
  where (e.key = any (flat) and jsonb_typeof(e.value) in ('object', 'array'))
    or (e.key = any (lists) and jsonb_typeof(e.value) = 'array'
      and exists (select from jsonb_array_elements(e.value) m where jsonb_typeof(m) in ('object', 'array')))
  limit 1;
$$;
comment on function :SCHEMA.nested_member is
  'The first member that holds an object or a list where a plain value belongs, or one of the lists that '
  'does. A number or a boolean stands for its text.';
revoke all on function :SCHEMA.nested_member from public;
