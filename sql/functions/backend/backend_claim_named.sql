create or replace function :SCHEMA.backend_claim_named(job_id text, worker text, lease_ms bigint)
returns setof :SCHEMA.claim
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_queue text;
  v_lease_id text;
  v_reserved :SCHEMA.run_lease;
begin
  -- The job before its reservation, as everybody does who needs both.
  select j.queue into v_queue from :SCHEMA.job j
  where j.key = :SCHEMA.job_key(backend_claim_named.job_id)
    and j.sticky_worker in ('', backend_claim_named.worker)
  for update skip locked;
  if not found then
    return;
  end if;
  select r.* into v_reserved from :SCHEMA.run_lease r where r.job_id = backend_claim_named.job_id for update;
  if v_reserved.expires_at_ms > :SCHEMA.now_ms() then
    v_lease_id := v_reserved.lease_id;
    worker := v_reserved.worker;
    lease_ms := greatest(v_reserved.expires_at_ms - :SCHEMA.now_ms(), 1);
  end if;
  return query
    select c.* from :SCHEMA.admit_hinted(worker, array[v_queue], 1, lease_ms, null, v_lease_id,
      backend_claim_named.job_id) c
    where c.id is not null;
end;
$$;
comment on function :SCHEMA.backend_claim_named is
  'Claims one job, which must be available or due: by the rules of the gate, without its turns. A '
  'reservation of the job becomes its lease. No row where it can''t run now.';
revoke all on function :SCHEMA.backend_claim_named from public;
