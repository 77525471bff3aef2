create or replace function :SCHEMA.backend_leave_running(job :SCHEMA.job, run_id text, outcome text,
  error text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_lease :SCHEMA.lease;
  v_run_id text;
  v_settled :SCHEMA.settled_job[];
begin
  select l.* into v_lease from :SCHEMA.lease l where l.lease_no = job.lease_no;
  v_run_id := (
    select a.run_id from :SCHEMA.attempt a
    where a.job_key = job.key and a.finished_at_ms is null and a.fence = job.fence);
  if backend_leave_running.run_id = v_run_id then
    v_settled := :SCHEMA.settle(array[cast(row(1, :SCHEMA.job_id(job.key, job.id), job.key, v_lease.lease_id,
      job.fence, outcome, error, null, null, null, null, null) as :SCHEMA.ack_input)]);
  elsif backend_leave_running.run_id is null and outcome = 'rate_limited'
    and v_lease.expires_at_ms <= :SCHEMA.now_ms() then
    perform :SCHEMA.lose_leases(array[job.key]);
    perform :SCHEMA.drop_leases(array[job.lease_no]);
  end if;
  if v_settled = '{}' or exists (
    select from :SCHEMA.job j where j.key = job.key and j.state = 'running' and j.fence = job.fence)
  then
    perform :SCHEMA.raise_rejected(:SCHEMA.job_id(job.key, job.id));
  end if;
end;
$$;
comment on function :SCHEMA.backend_leave_running is
  'Ends the attempt of a running job, which the caller has locked, for the holder of its run; without a run '
  'it is given up where its lease has expired. HR005 where it is somebody else''s.';
revoke all on function :SCHEMA.backend_leave_running from public;
