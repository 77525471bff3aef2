create or replace function :SCHEMA.backend_status(state text)
returns text
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when state in ('pending', 'scheduled', 'available', 'retryable') then 'queued'
    when state = 'running' then 'running'
    when state = 'completed' then 'success'
    when state = 'cancelled' then 'canceled'
    else 'failed'
  end;
end;
$$;
comment on function :SCHEMA.backend_status is
  'A state as the backend surface calls it: queued, running, success, failed (archived, quarantined, '
  'undecodable), canceled.';
revoke all on function :SCHEMA.backend_status from public;
