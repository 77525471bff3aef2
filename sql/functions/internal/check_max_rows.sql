create or replace function :SCHEMA.check_max_rows(max_rows integer, greatest_value integer default 100000)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform :SCHEMA.check_range('max_rows', max_rows, 1, greatest_value);
end;
$$;
comment on function :SCHEMA.check_max_rows is
  'Raises HR007 invalid unless a sweep''s or a list''s number of rows is within its bounds.';
revoke all on function :SCHEMA.check_max_rows from public;
