create or replace function :SCHEMA.backend_pass(job_key bigint)
returns :SCHEMA.gate_pass
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job :SCHEMA.job;
  v_lane :SCHEMA.lane_start;
  v_pass :SCHEMA.gate_pass;
begin
  select j.* into v_job from :SCHEMA.job j where j.key = job_key and j.state = 'available';
  v_lane.place := 1;
  v_lane.queue := v_job.queue;
  v_lane.partition_key := v_job.partition_key;
  v_pass.lanes := array[v_lane];
  v_pass.lane_of := array[1];
  v_pass.demands := array[cast(row(1, v_job.queue, v_job.partition_key, v_job.rate_classes, 1, v_job.weight,
    array[v_job.key]) as :SCHEMA.demand)];
  v_pass.keys := array[v_job.key];
  v_pass.places := array(select j.ctid from :SCHEMA.job j where j.key = v_job.key);
  return v_pass;
end;
$$;
comment on function :SCHEMA.backend_pass is
  'What the gate would have chosen for one available job, which the caller has locked: for claim_jobs.';
revoke all on function :SCHEMA.backend_pass from public;
