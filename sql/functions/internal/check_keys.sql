create or replace function :SCHEMA.check_keys(field text, value json, known text[])
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key text;
begin
  if value::text like '%\\u%' then
    begin
      perform value::jsonb;
    exception when data_exception then
      perform :SCHEMA.raise_invalid(field, 'can''t be read: ' || sqlerrm, 'text without U+0000');
    end;
  end if;
  if json_typeof(value) is distinct from 'object' then
    perform :SCHEMA.raise_invalid(field, 'must be an object', array_to_string(known, ', '));
  end if;
  select k into v_key from json_object_keys(value) k where k <> all (known) limit 1;
  if found then
    perform :SCHEMA.raise_invalid(field, 'has an unknown field: ' || left(v_key, 40),
      array_to_string(known, ', '));
  end if;
end;
$$;
comment on function :SCHEMA.check_keys is
  'Raises HR007 invalid unless the value is an object with none but these keys.';
revoke all on function :SCHEMA.check_keys from public;
