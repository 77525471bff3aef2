create or replace function :SCHEMA.choose_named(queues text[], worker text, job_id text,
  flags :SCHEMA.gate_flags, at_ms bigint)
returns :SCHEMA.gate_pass
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
  v_place tid;
  v_lane :SCHEMA.lane_start;
  v_jobs :SCHEMA.batch;
  v_verdict :SCHEMA.verdict;
  v_pass :SCHEMA.gate_pass;
begin
  -- Who loses the race for the row has lost the race for the job.
  select j.* into v_job from :SCHEMA.job j
  where j.key = :SCHEMA.job_key(choose_named.job_id) and j.queue = any (choose_named.queues)
    and j.sticky_worker in ('', choose_named.worker)
  for update skip locked;
  if v_job.state in ('scheduled', 'retryable') and v_job.scheduled_at_ms <= choose_named.at_ms then
    perform :SCHEMA.promote_jobs(array[v_job.key]);
  end if;
  select j.ctid into v_place from :SCHEMA.job j where j.key = v_job.key and j.state = 'available';
  if not found then
    return v_pass;
  end if;
  v_lane.place := 1;
  v_lane.queue := v_job.queue;
  v_lane.partition_key := v_job.partition_key;
  v_lane.rate_classes := v_job.rate_classes;
  v_jobs.places := array[v_place];
  v_jobs.keys := array[v_job.key];
  v_jobs.lane_of := array[1];
  v_jobs.weights := array[v_job.weight];
  v_verdict := :SCHEMA.apply_policies(v_jobs, array[v_lane], null, flags, v_job.deadline_ms is not null,
    choose_named.at_ms);
  v_pass.chosen := v_verdict.admitted;
  v_pass.refusals := v_verdict.refusals;
  v_pass.ready_ms := v_verdict.ready_ms;
  v_pass.demands := v_verdict.demands;
  v_pass.charging := v_verdict.charging;
  v_pass.own_leases := v_verdict.own_leases;
  v_pass.decided_ms := v_verdict.at_ms;
  return v_pass;
end;
$$;
comment on function :SCHEMA.choose_named is
  'What choose does for one job, by its id: by the policies, without its turn. Nothing is chosen where it is '
  'not in these queues, not available or due, or at this moment in the hands of another call.';
revoke all on function :SCHEMA.choose_named from public;
