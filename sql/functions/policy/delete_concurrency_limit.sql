create or replace function :SCHEMA.delete_concurrency_limit(name text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('name', delete_concurrency_limit.name, 255);
  delete from :SCHEMA.concurrency_limit l where l.name = delete_concurrency_limit.name;
  if not found then
    perform :SCHEMA.raise_error('HR006', 'there is no such ceiling',
      jsonb_build_object('what', 'concurrency_limit', 'id', delete_concurrency_limit.name));
  end if;
end;
$$;
comment on function :SCHEMA.delete_concurrency_limit is 'Removes a ceiling. Errors: HR006 not_found, HR007.';
revoke all on function :SCHEMA.delete_concurrency_limit from public;
