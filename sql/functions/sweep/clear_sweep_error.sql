create or replace function :SCHEMA.clear_sweep_error(sweep text, subject text)
returns void
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  delete from :SCHEMA.sweep_error e
  where e.sweep = clear_sweep_error.sweep and e.subject = clear_sweep_error.subject;
$$;
comment on function :SCHEMA.clear_sweep_error is 'Forgets a row that a sweep has moved after all.';
revoke all on function :SCHEMA.clear_sweep_error from public;
