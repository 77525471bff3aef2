create or replace function :SCHEMA.backend_states(status text)
returns :SCHEMA.job_state[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if status is not null and status not in ('queued', 'running', 'success', 'failed', 'canceled') then
    perform :SCHEMA.raise_invalid('status', 'is unknown: ' || left(status, 40),
      'queued, running, success, failed, canceled');
  end if;
  return array(
    select e.state from unnest(enum_range(cast(null as :SCHEMA.job_state))) e(state)
    where backend_states.status is null or :SCHEMA.backend_status(e.state::text) = backend_states.status);
end;
$$;
comment on function :SCHEMA.backend_states is
  'The states behind a status of the backend surface, all of them for null; HR007 for an unknown one.';
revoke all on function :SCHEMA.backend_states from public;
