create or replace function :SCHEMA.read_cron_field(
  name text, value text, least_value integer, greatest_value integer, names text[] default null
)
returns integer[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  c_weekday boolean := name = 'day of week';
  v_most integer := case when c_weekday then 7 else greatest_value end;
  v_item text;
  v_parts text[];
  v_from integer;
  v_to integer;
  v_step integer;
  v_values integer[] := '{}';
begin
  if value = '*' then
    return array(select v from generate_series(least_value, greatest_value) v);
  end if;
  foreach v_item in array string_to_array(lower(value), ',') loop
    v_parts := regexp_match(v_item, '^(\*|\d{1,2}|[a-z]{3})(?:-(\d{1,2}|[a-z]{3}))?(?:/(\d{1,2}))?$');
    v_step := coalesce(v_parts[3]::integer, 1);
    if v_parts[1] = '*' and v_parts[2] is null then
      v_from := least_value;
      v_to := greatest_value;
    else
      v_from := case when v_parts[1] ~ '^\d' then v_parts[1]::integer
        else array_position(names, v_parts[1]) + least_value - 1 end;
      v_to := case
        when v_parts[2] ~ '^\d' then v_parts[2]::integer
        when v_parts[2] is not null then array_position(names, v_parts[2]) + least_value - 1
        when v_parts[3] is not null then greatest_value
        else v_from
      end;
    end if;
    if v_from is null or v_to is null or v_from < least_value or v_from > v_most or v_to > v_most
      or v_to < v_from and not c_weekday or v_step not between 1 and greatest_value - least_value + 1
    then
      perform :SCHEMA.raise_invalid('spec', 'has a bad ' || name || ': ' || :SCHEMA.cut_text(value, 40),
        least_value || '..' || v_most
        || case when names is null then '' else ' or ' || names[1] || '..' || names[cardinality(names)] end
        || ', *, lists, ranges and steps');
    end if;
    if v_to < v_from then
      v_to := v_to + 7;
    end if;
    v_values := v_values || array(select v from generate_series(v_from, v_to, v_step) v);
  end loop;
  return array(select distinct case when c_weekday then v % 7 else v end from unnest(v_values) v order by 1);
end;
$$;
comment on function :SCHEMA.read_cron_field is
  'The values that a field of a cron spec names, sorted. Days of the week are 0..6 with 7 for Sunday too, '
  'and their ranges may go over the end of the week. Raises HR007.';
revoke all on function :SCHEMA.read_cron_field from public;
