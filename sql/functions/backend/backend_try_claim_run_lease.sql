create or replace function :SCHEMA.backend_try_claim_run_lease(job_id text, worker_id text, ttl_secs bigint)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_job :SCHEMA.job;
  v_lease_id text := gen_random_uuid()::text;
begin
  perform :SCHEMA.check_text('job_id', backend_try_claim_run_lease.job_id, 255);
  perform :SCHEMA.check_text('worker_id', worker_id, 255);
  perform :SCHEMA.check_range('ttl_secs', ttl_secs, -315576000000, 315576000000);
  -- Shared with other reservations, not with a claim: whoever is claiming the job is before us.
  select j.* into v_job from :SCHEMA.job j
  where j.key = :SCHEMA.job_key(backend_try_claim_run_lease.job_id)
  for share skip locked;
  if v_job.state = 'running' or (not found and :SCHEMA.job_key(backend_try_claim_run_lease.job_id) is not
    null) then
    return null;
  end if;
  insert into :SCHEMA.run_lease as r (job_id, lease_id, worker, expires_at_ms)
  values (backend_try_claim_run_lease.job_id, v_lease_id, worker_id, :SCHEMA.now_ms() + ttl_secs * 1000)
  on conflict (job_id) do update
    set lease_id = excluded.lease_id, worker = excluded.worker,
      expires_at_ms = :SCHEMA.now_ms() + backend_try_claim_run_lease.ttl_secs * 1000
    where r.expires_at_ms <= :SCHEMA.now_ms();
  return case when found then v_lease_id end;
end;
$$;
comment on function :SCHEMA.backend_try_claim_run_lease is
  'Reserves an id, of a job that waits or of none, for ttl_secs, and returns the lease; null where another '
  'lease holds it or the job runs. A claim of the job takes the reservation over. Errors: HR007.';
revoke all on function :SCHEMA.backend_try_claim_run_lease from public;
