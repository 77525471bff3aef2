create or replace function :SCHEMA.backend_run_status(outcome text)
returns text
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when outcome is null then 'running'
    when outcome in ('success', 'timeout') then outcome
    when outcome in ('cancelled', 'displaced') then 'canceled'
    else 'failed'
  end;
end;
$$;
comment on function :SCHEMA.backend_run_status is
  'How an attempt ended as the backend surface calls it: running, success, failed, canceled, timeout.';
revoke all on function :SCHEMA.backend_run_status from public;
