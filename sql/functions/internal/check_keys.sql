create or replace function :SCHEMA.check_keys(field text, value json, known text[],
  nested text[] default '{}')
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong record;
begin
  if json_typeof(value) is distinct from 'object' then
    perform :SCHEMA.raise_invalid(field, 'must be an object', array_to_string(known, ', '));
  end if;
  if value::text like '%\\u%' then
    begin
      perform value::jsonb;
    exception when data_exception then
      perform :SCHEMA.raise_unreadable(field, value, '{}', '{}', '{}');
    end;
  end if;
  select e.key, e.key = any (known) as known into v_wrong
  from json_each(value) e
  where e.key <> all (known) or (json_typeof(e.value) in ('object', 'array') and e.key <> all (nested))
  limit 1;
  if found and v_wrong.known then
    perform :SCHEMA.raise_invalid(v_wrong.key, 'holds a list or an object', 'a plain value');
  elsif found then
    perform :SCHEMA.raise_invalid(field, 'has an unknown field: ' || left(v_wrong.key, 40),
      array_to_string(known, ', '));
  end if;
end;
$$;
comment on function :SCHEMA.check_keys is
  'Raises HR007 invalid unless the value is an object with none but these keys, with plain values but for '
  'those that may be nested.';
revoke all on function :SCHEMA.check_keys from public;
