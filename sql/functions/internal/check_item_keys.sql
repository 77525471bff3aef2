create or replace function :SCHEMA.check_item_keys(items json, item text, known text[])
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found record;
begin
  select e.ord, k.key into v_found
  from jsonb_array_elements(items::jsonb) with ordinality e(value, ord)
  cross join lateral (select key from jsonb_object_keys(e.value - known) key limit 1) k
  where e.value - known <> '{}'
  order by e.ord
  limit 1;
  if found then
    perform :SCHEMA.raise_invalid(left(v_found.key, 100), 'is not a known field'
      || case when json_array_length(items) > 1 then ' (' || item || ' ' || v_found.ord || ')' else '' end,
      array_to_string(known, ', '));
  end if;
end;
$$;
comment on function :SCHEMA.check_item_keys is
  'Raises HR007 invalid for the first key, in a list of objects, that is none of those; item is what the '
  'message calls one of them. A caller that has read the list spares itself the call where the text has as '
  'many colons as it has read values.';
revoke all on function :SCHEMA.check_item_keys from public;
