create or replace function :SCHEMA.check_filter(field text, filter jsonb)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  c_fields text := 'id, queue, state, kind, kind_prefix, partition_key, fingerprint, rate_class, priority, '
    'tags_all, tags_any';
  v_key text;
  v_value jsonb;
begin
  if jsonb_typeof(filter) is distinct from 'object' then
    perform :SCHEMA.raise_invalid(check_filter.field, 'must be an object', c_fields);
  end if;
  for v_key, v_value in select e.key, e.value from jsonb_each(filter) e order by e.key loop
    if v_key <> all (string_to_array(c_fields, ', ')) then
      perform :SCHEMA.raise_invalid(check_filter.field, 'has an unknown field: ' || left(v_key, 100),
        c_fields);
    elsif v_key = 'priority' then
      if jsonb_typeof(v_value) <> 'number' or v_value::text !~ '^-?\d{1,10}$' then
        perform :SCHEMA.raise_invalid('priority', 'must be a whole number', '-2147483648..2147483647');
      end if;
      perform :SCHEMA.check_range('priority', v_value::text::bigint, -2147483648, 2147483647);
    elsif v_key in ('tags_all', 'tags_any') then
      if jsonb_typeof(v_value) <> 'array' or jsonb_array_length(v_value) not between 1 and 32
        or jsonb_path_exists(v_value, '$[*] ? (@.type() != "string")')
      then
        perform :SCHEMA.raise_invalid(v_key, 'must be a list of tags', '1..32 tags');
      end if;
    elsif jsonb_typeof(v_value) <> 'string' then
      perform :SCHEMA.raise_invalid(v_key, 'must be a text', 'a text');
    elsif v_key = 'state' and v_value #>> '{}' <> all (enum_range(cast(null as :SCHEMA.job_state))::text[])
      then
      perform :SCHEMA.raise_invalid('state', 'is unknown: ' || left(v_value #>> '{}', 40),
        array_to_string(enum_range(cast(null as :SCHEMA.job_state))::text[], ', '));
    end if;
  end loop;
end;
$$;
comment on function :SCHEMA.check_filter is
  'Raises HR007 for a filter of jobs with an unknown field, a value of a wrong type, or an unknown state.';
revoke all on function :SCHEMA.check_filter from public;
