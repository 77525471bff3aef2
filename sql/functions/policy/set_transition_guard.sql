create or replace function :SCHEMA.set_transition_guard(enabled boolean)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
begin
  if enabled is null then
    perform :SCHEMA.raise_invalid('enabled', 'must be given', 'true, false');
  elsif enabled then
    alter table :SCHEMA.job enable trigger job_transition;
  else
    alter table :SCHEMA.job disable trigger job_transition;
  end if;
end;
$$;
comment on function :SCHEMA.set_transition_guard is
  'Switches the check of every move of a job against the table transition on or off. It costs time per row: '
  'on in tests, off by default. Errors: HR007.';
revoke all on function :SCHEMA.set_transition_guard from public;
