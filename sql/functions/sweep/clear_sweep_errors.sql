create or replace function :SCHEMA.clear_sweep_errors(sweep text, keys bigint[])
returns void
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  delete from :SCHEMA.sweep_error e
  where e.sweep = clear_sweep_errors.sweep and e.subject in (select k::text from unnest(keys) k)
    and exists (select from :SCHEMA.sweep_error o where o.sweep = clear_sweep_errors.sweep);
$$;
comment on function :SCHEMA.clear_sweep_errors is 'Forgets jobs that a sweep has moved after all.';
revoke all on function :SCHEMA.clear_sweep_errors from public;
