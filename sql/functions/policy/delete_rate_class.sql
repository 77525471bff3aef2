create or replace function :SCHEMA.delete_rate_class(name text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('name', delete_rate_class.name, 255);
  delete from :SCHEMA.rate_class r where r.name = delete_rate_class.name;
  if not found then
    perform :SCHEMA.raise_error('HR006', 'there is no such rate class',
      jsonb_build_object('what', 'rate_class', 'id', delete_rate_class.name));
  end if;
end;
$$;
comment on function :SCHEMA.delete_rate_class is
  'Removes a rate class: jobs that name it are limited by it no more. Errors: HR006 not_found, HR007.';
revoke all on function :SCHEMA.delete_rate_class from public;
