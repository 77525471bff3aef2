create or replace function :SCHEMA.backend_get_run(run_id text)
returns setof :SCHEMA.backend_run
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_run :SCHEMA.attempt := :SCHEMA.backend_find_run(backend_get_run.run_id);
begin
  return query select * from :SCHEMA.backend_runs(array[v_run]) where v_run.no is not null;
end;
$$;
comment on function :SCHEMA.backend_get_run is 'A run by its id; no row where there is none. Errors: HR007.';
revoke all on function :SCHEMA.backend_get_run from public;
