create or replace function :SCHEMA.open_lease(
  keys bigint[], worker text, lease_id text, at_ms bigint, expires_at_ms bigint
)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  v_lease_no bigint;
begin
  insert into :SCHEMA.lease (lease_id, worker, claimed_at_ms, expires_at_ms, keys)
  values (lease_id, worker, at_ms, expires_at_ms, keys)
  returning lease_no into v_lease_no;
  return v_lease_no;
end;
$$;
comment on function :SCHEMA.open_lease is
  'Writes one lease for all these jobs, which are about to be claimed; returns its number.';
revoke all on function :SCHEMA.open_lease from public;
