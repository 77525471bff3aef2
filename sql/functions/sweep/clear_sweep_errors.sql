create or replace function :SCHEMA.clear_sweep_errors(sweep text, keys bigint[])
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from :SCHEMA.sweep_error e where e.sweep = clear_sweep_errors.sweep) then
    delete from :SCHEMA.sweep_error e
    where e.sweep = clear_sweep_errors.sweep and e.subject in (select k::text from unnest(keys) k);
  end if;
end;
$$;
comment on function :SCHEMA.clear_sweep_errors is 'Forgets rows that a sweep has moved after all, all of them at once.';
revoke all on function :SCHEMA.clear_sweep_errors from public;
