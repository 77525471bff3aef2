create or replace function :SCHEMA.class_names(class_key text)
returns text[]
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when class_key = '' then '{}'::text[]
    when class_key like '=%' then array[substr(class_key, 2)]
    else array(select jsonb_array_elements_text(class_key::jsonb))
  end;
end;
$$;
comment on function :SCHEMA.class_names is 'The rate classes behind a class_key.';
revoke all on function :SCHEMA.class_names from public;
