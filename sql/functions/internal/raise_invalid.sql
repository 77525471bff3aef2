create or replace function :SCHEMA.raise_invalid(field text, reason text, bound text)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform :SCHEMA.raise_error(
    'HR007',
    raise_invalid.field || ' ' || raise_invalid.reason || ' (' || raise_invalid.bound || ')',
    jsonb_build_object('field', raise_invalid.field, 'reason', raise_invalid.reason, 'bound',
      raise_invalid.bound)
  );
end;
$$;
comment on function :SCHEMA.raise_invalid is
  'Raises HR007 invalid with the field, what is wrong with it, and the bound.';
revoke all on function :SCHEMA.raise_invalid from public;
