create or replace function :SCHEMA.hold(job_id text, lease_id text, fence bigint)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_key bigint := :SCHEMA.job_key(job_id);
begin
  -- Looked at again: while it waited for the row, renew may have given the job a lease row of its own.
  for v_look in 1..3 loop
    perform from :SCHEMA.job j
    join :SCHEMA.lease l on l.lease_no = j.lease_no and l.lease_id = hold.lease_id
    where j.key = v_key and j.state = 'running' and j.fence = hold.fence
    for update of j;
    if found then
      return v_key;
    end if;
  end loop;
  perform :SCHEMA.raise_rejected(job_id);
  return null;
end;
$$;
comment on function :SCHEMA.hold is
  'Locks the job of a holder until the end of the transaction and returns its key; HR005 where the lease or '
  'fence no longer holds it.';
revoke all on function :SCHEMA.hold from public;
