create or replace function :SCHEMA.backend_release_lease(lease_id text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_run :SCHEMA.attempt;
  v_job :SCHEMA.job;
begin
  perform :SCHEMA.check_text('lease_id', backend_release_lease.lease_id, 255);
  delete from :SCHEMA.run_lease r where r.lease_id = backend_release_lease.lease_id;
  if found then
    return;
  end if;
  v_run := :SCHEMA.backend_find_run(lease_id);
  select j.* into v_job from :SCHEMA.job j where j.key = v_run.job_key for update;
  if v_job.state = 'running' and v_job.fence = v_run.fence then
    -- What is given up when its time is over was lost before: that counts as a crash.
    perform :SCHEMA.backend_leave_running(v_job,
      case when (select l.expires_at_ms from :SCHEMA.lease l
        where l.lease_no = v_job.lease_no) > :SCHEMA.now_ms()
        then v_run.run_id end, 'rate_limited', null);
    return;
  end if;
  v_run := :SCHEMA.backend_find_run(lease_id);
  if v_run.no is null or v_run.finished_at_ms is null
    or v_run.outcome in ('lease_lost', 'cancelled', 'displaced') then
    perform :SCHEMA.raise_error('HR005', 'the lease is lost', jsonb_build_object('job_id', v_run.job_id,
      'lease_id', backend_release_lease.lease_id), 'stop working on the job: somebody else may have it');
  end if;
end;
$$;
comment on function :SCHEMA.backend_release_lease is
  'Gives a lease up: a reservation ends; a job that still runs under it is queued again in the same '
  'statement, as a crash where the lease has expired. After the end of the run there is nothing left to give '
  'up. Errors: HR005 lease_rejected where it is lost, HR007.';
revoke all on function :SCHEMA.backend_release_lease from public;
