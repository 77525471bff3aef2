create or replace function :SCHEMA.show_operation(operation :SCHEMA.operation)
returns setof :SCHEMA.operation_status
language sql
stable
rows 1
security definer
set search_path = pg_catalog, pg_temp
as $$
  select operation.operation_id, operation.action, operation.selector, operation.status, operation.dry_run,
    operation.estimated, operation.estimate_capped, operation.affected,
    coalesce((select sum(e.value::bigint)::bigint from jsonb_each_text(s.skipped_for) e), 0),
    s.skipped_for, operation.error, operation.created_at_ms, operation.updated_at_ms,
    operation.finished_at_ms
  from (
    select case when operation.passes = 1 then operation.pass_skipped
      else operation.skipped_for end as skipped_for) s;
$$;
comment on function :SCHEMA.show_operation is 'A bulk operation as get_operation shows it.';
revoke all on function :SCHEMA.show_operation from public;
