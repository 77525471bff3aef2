create or replace function :SCHEMA.raise_error(code text, message text, fields jsonb default '{}',
  hint text default '')
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = raise_error.code,
    message = raise_error.message,
    detail = raise_error.fields::text,
    hint = raise_error.hint;
end;
$$;
comment on function :SCHEMA.raise_error is
  'Raises an error of ours: SQLSTATE HRnnn, a plain message, and the fields as JSON in DETAIL. The one place '
  'that raises.';
revoke all on function :SCHEMA.raise_error from public;
