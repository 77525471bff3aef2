create or replace function :SCHEMA.check_state(job :SCHEMA.job, action text, states text[])
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if job.state::text <> all (states) then
    perform :SCHEMA.raise_invalid('state', 'is ' || job.state || ': a job can''t be ' || action || ' in it',
      array_to_string(states, ', '));
  end if;
end;
$$;
comment on function :SCHEMA.check_state is
  'Raises HR007 invalid unless the job, which the caller has locked, is in one of these states.';
revoke all on function :SCHEMA.check_state from public;
