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
  v_job :SCHEMA.job;
  v_candidate :SCHEMA.candidate;
  v_verdict :SCHEMA.verdict;
  v_pass :SCHEMA.gate_pass;
  v_lease_id text := gen_random_uuid()::text;
  v_reserved :SCHEMA.run_lease;
begin
  lock table :SCHEMA.lease in row exclusive mode;
  -- Who loses the race for the row has lost the race for the job.
  select j.* into v_job from :SCHEMA.job j where j.key = :SCHEMA.job_key(backend_claim_named.job_id) for
    update skip locked;
  if not found or v_job.sticky_worker not in ('', backend_claim_named.worker)
    or exists (select from :SCHEMA.queue q where q.queue = v_job.queue and q.paused)
  then
    return;
  end if;
  if v_job.state in ('scheduled', 'retryable') and v_job.scheduled_at_ms <= :SCHEMA.now_ms() then
    perform :SCHEMA.promote_jobs(array[v_job.key]);
  elsif v_job.state <> 'available' then
    return;
  end if;
  v_pass := :SCHEMA.backend_pass(v_job.key);
  v_candidate.tid := v_pass.places[1];
  v_candidate.key := v_job.key;
  v_candidate.lane := 1;
  v_candidate.queue := v_job.queue;
  v_candidate.partition_key := v_job.partition_key;
  v_candidate.priority := v_job.priority;
  v_candidate.scheduled_at_ms := v_job.scheduled_at_ms;
  v_candidate.rate_classes := v_job.rate_classes;
  v_candidate.weight := v_job.weight;
  v_candidate.deadline_ms := v_job.deadline_ms;
  v_candidate.rank := 1;
  v_verdict := :SCHEMA.apply_policies(array[v_candidate], null, true, true, :SCHEMA.now_ms());
  if v_verdict.admitted = '{}' then
    return;
  end if;
  v_pass.charging := v_verdict.charging;
  v_pass.own_leases := v_verdict.own_leases;
  delete from :SCHEMA.run_lease r where r.job_id = backend_claim_named.job_id returning * into v_reserved;
  if v_reserved.expires_at_ms > :SCHEMA.now_ms() then
    v_lease_id := v_reserved.lease_id;
    worker := v_reserved.worker;
    lease_ms := v_reserved.expires_at_ms - :SCHEMA.now_ms();
  end if;
  return query select * from :SCHEMA.claim_jobs(v_pass, worker, v_lease_id, :SCHEMA.now_ms(),
    greatest(lease_ms, 1));
end;
$$;
comment on function :SCHEMA.backend_claim_named is
  'Claims one job, which must be available or due: by the rules of the gate, without its turns. A '
  'reservation of the job becomes its lease. No row where it can''t run now.';
revoke all on function :SCHEMA.backend_claim_named from public;
