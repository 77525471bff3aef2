create or replace function :SCHEMA.backend_import_job(key bigint, input :SCHEMA.backend_input)
returns void
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
  v_pass :SCHEMA.gate_pass;
  v_claims :SCHEMA.claim[];
begin
  if input.attempt > 1 then
    update :SCHEMA.job j set attempt = input.attempt - 1 where j.key = backend_import_job.key;
  end if;
  if input.status = 'canceled' then
    perform :SCHEMA.cancel_jobs(array[backend_import_job.key]);
  elsif input.status <> 'queued' then
    -- As for an admission: a ceiling that is made meanwhile waits, and one that is there counts the job.
    lock table :SCHEMA.lease in row exclusive mode;
    v_pass := :SCHEMA.backend_pass(backend_import_job.key);
    v_pass.own_leases := (
      select array_agg(m.queue) from :SCHEMA.concurrency_limit m where m.queue = v_pass.lanes[1].queue);
    v_claims := array(select c from :SCHEMA.claim_jobs(v_pass, 'backend', gen_random_uuid()::text,
      :SCHEMA.now_ms(), 30000) c);
    perform :SCHEMA.backend_open_runs(v_claims, 'backend', true);
    if input.status <> 'running' then
      select j.* into v_job from :SCHEMA.job j where j.key = backend_import_job.key;
      perform :SCHEMA.backend_leave_running(v_job, v_claims[1].lease_id,
        case input.status when 'success' then 'success' else 'skip' end, null);
    end if;
  end if;
end;
$$;
comment on function :SCHEMA.backend_import_job is
  'Brings a job that has just been inserted into the status in which it is to be stored, by legal moves.';
revoke all on function :SCHEMA.backend_import_job from public;
