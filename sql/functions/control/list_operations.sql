create or replace function :SCHEMA.list_operations(max_rows integer default 50)
returns setof :SCHEMA.operation_status
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform :SCHEMA.check_max_rows(max_rows, 200);
  return query
    select s.*
    from (
      select o.* from :SCHEMA.operation o
      order by o.created_at_ms desc, o.operation_id
      limit list_operations.max_rows) o
    cross join lateral :SCHEMA.show_operation(cast(o as :SCHEMA.operation)) s
    order by s.created_at_ms desc, s.id;
end;
$$;
comment on function :SCHEMA.list_operations is 'The newest bulk operations, 1..200. Errors: HR007.';
revoke all on function :SCHEMA.list_operations from public;
