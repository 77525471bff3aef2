create or replace function :SCHEMA.backend_try_claim_job(
  job_id text, worker text default 'backend', lease_ms bigint default 30000
)
returns setof :SCHEMA.backend_job
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_claims :SCHEMA.claim[];
begin
  perform :SCHEMA.check_text('job_id', backend_try_claim_job.job_id, 255);
  perform :SCHEMA.check_text('worker', worker, 255);
  perform :SCHEMA.check_duration('lease_ms', lease_ms);
  v_claims := array(
    select c from :SCHEMA.backend_claim_named(backend_try_claim_job.job_id, worker, lease_ms) c);
  if v_claims = '{}' then
    return;
  end if;
  perform :SCHEMA.backend_open_runs(v_claims, (
    select l.worker from :SCHEMA.lease l
    join :SCHEMA.job j on j.lease_no = l.lease_no and j.key = :SCHEMA.job_key(v_claims[1].id)), true);
  return query select * from :SCHEMA.backend_get_job(v_claims[1].id);
end;
$$;
comment on function :SCHEMA.backend_try_claim_job is
  'Claims a queued job, once under any race: lease, fence and run are written together. run_id is the token '
  'of the holder. No row where the job is unknown, taken, not due, paused, quarantined or over a limit. '
  'Errors: HR007.';
revoke all on function :SCHEMA.backend_try_claim_job from public;
