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
  v_lease :SCHEMA.lease;
  v_claim :SCHEMA.claim;
  v_now bigint;
begin
  if input.attempt > 1 then
    update :SCHEMA.job j set attempt = input.attempt - 1 where j.key = backend_import_job.key;
  end if;
  if input.status = 'canceled' then
    perform :SCHEMA.cancel_jobs(array[backend_import_job.key]);
  elsif input.status <> 'queued' then
    -- As for an admission: a ceiling that is made meanwhile waits, and one that is there counts the job.
    lock table :SCHEMA.lease in row exclusive mode;
    v_now := :SCHEMA.now_ms();
    insert into :SCHEMA.lease (lease_id, worker, queue, partition_key, claimed_at_ms, expires_at_ms, keys)
    select gen_random_uuid()::text, 'backend', m.queue, case when m.queue is not null
      then j.partition_key end, v_now, v_now + 30000, array[j.key]
    from :SCHEMA.job j
    left join :SCHEMA.concurrency_limit m on m.queue = j.queue
    where j.key = backend_import_job.key
    returning lease.* into v_lease;
    update :SCHEMA.job j
    set state = 'running', fence = j.fence + 1, lease_no = v_lease.lease_no, claimed_at_ms = v_now,
      charged = case when j.rate_classes is not null then '{}'::text[] end
    where j.key = backend_import_job.key
    returning j.* into v_job;
    v_claim.id := :SCHEMA.job_id(v_job.key, v_job.id);
    v_claim.kind := v_job.kind;
    v_claim.queue := v_job.queue;
    v_claim.attempt := v_job.attempt;
    v_claim.fence := v_job.fence;
    v_claim.lease_id := v_lease.lease_id;
    perform :SCHEMA.backend_open_runs(array[v_claim], 'backend', true);
    if input.status <> 'running' then
      perform :SCHEMA.backend_leave_running(v_job, v_lease.lease_id,
        case input.status when 'success' then 'success' else 'skip' end, null);
    end if;
  end if;
end;
$$;
comment on function :SCHEMA.backend_import_job is
  'Brings a job that has just been inserted into the status in which it is to be stored, by legal moves.';
revoke all on function :SCHEMA.backend_import_job from public;
