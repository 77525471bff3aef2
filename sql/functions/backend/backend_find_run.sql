create or replace function :SCHEMA.backend_find_run(run_id text)
returns :SCHEMA.attempt
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_run :SCHEMA.attempt;
begin
  perform :SCHEMA.check_text('run_id', backend_find_run.run_id, 255);
  if backend_find_run.run_id ~ '^r[0-9a-f]{16}$' then
    select a.* into v_run from :SCHEMA.attempt a
    where a.no = ('x' || substr(backend_find_run.run_id, 2))::bit(64)::bigint and a.run_id is null
      and a.started_at_ms is not null;
  else
    select a.* into v_run from :SCHEMA.attempt a where a.run_id = backend_find_run.run_id;
  end if;
  return v_run;
end;
$$;
comment on function :SCHEMA.backend_find_run is
  'The attempt with this run id; its no is null where there is none.';
revoke all on function :SCHEMA.backend_find_run from public;
