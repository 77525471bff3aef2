create or replace function :SCHEMA.get_operation(id text)
returns setof :SCHEMA.operation_status
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform :SCHEMA.check_text('id', get_operation.id, 255);
  return query
    select s.* from :SCHEMA.operation o cross join lateral :SCHEMA.show_operation(o) s
    where o.operation_id = get_operation.id;
end;
$$;
comment on function :SCHEMA.get_operation is
  'How far a bulk operation is; no row where there is none (they are forgotten 30 days after their end). '
  'affected of estimated jobs are moved; skipped could not be, and skipped_for says why, for instance '
  'duplicate: another job has the unique key. Errors: HR007.';
revoke all on function :SCHEMA.get_operation from public;
