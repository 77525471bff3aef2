create or replace function :SCHEMA.backend_show_job(job :SCHEMA.job)
returns :SCHEMA.backend_job
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_shown :SCHEMA.backend_job;
begin
  v_shown.job_id := :SCHEMA.job_id(job.key, job.id);
  v_shown.task_name := job.kind;
  v_shown.actor_json := job.actor_json;
  v_shown.params_json := :SCHEMA.utf8_text(job.payload);
  v_shown.priority := - greatest(job.priority, -2147483647);
  v_shown.pool := job.queue;
  v_shown.status := :SCHEMA.backend_status(job.state::text);
  if substr(job.unique_key, 1, 2) = '\x0147' then
    v_shown.idempotency_key := :SCHEMA.utf8_text(substr(job.unique_key, 3));
  end if;
  v_shown.created_at_ms := job.enqueued_at_ms;
  v_shown.signature_hash := job.signature_hash::text;
  -- A job that ended with its last attempt has it counted already.
  v_shown.attempt := least(job.attempt, 2147483646) + 1;
  if job.state = 'archived' then
    v_shown.attempt := greatest(1, least(v_shown.attempt, job.max_attempts));
  end if;
  v_shown.max_attempts := job.max_attempts;
  v_shown.scheduled_at_ms := job.scheduled_at_ms;
  if job.state = 'running' then
    v_shown.fence := job.fence;
    select l.lease_id, l.expires_at_ms into v_shown.lease_id, v_shown.expires_at_ms
    from :SCHEMA.lease l where l.lease_no = job.lease_no;
    v_shown.run_id := (
      select a.run_id from :SCHEMA.attempt a
      where a.job_key = job.key and a.finished_at_ms is null and a.fence = job.fence);
  end if;
  return v_shown;
end;
$$;
comment on function :SCHEMA.backend_show_job is 'A job as the backend surface shows it.';
revoke all on function :SCHEMA.backend_show_job from public;
