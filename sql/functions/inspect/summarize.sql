create or replace function :SCHEMA.summarize(job :SCHEMA.job, with_payload boolean)
returns setof :SCHEMA.job_summary
language sql
stable
rows 1
security definer
set search_path = pg_catalog, pg_temp
as $$
  select :SCHEMA.job_id(job.key, job.id), job.state::text, job.kind, job.queue, job.partition_key,
    job.priority, job.attempt, job.crash_attempt, job.max_attempts, job.weight, job.schema_version,
      job.rate_classes, job.tags,
    coalesce(job.fingerprint, :SCHEMA.fingerprint(job.kind, job.payload)), job.enqueued_at_ms,
      job.scheduled_at_ms,
    job.claimed_at_ms, job.finalized_at_ms, job.evict_at_ms, job.timeout_ms, job.deadline_ms,
      job.retention_ms,
    job.fence, l.lease_id, l.expires_at_ms, l.worker, nullif(job.sticky_worker, ''), job.periodic_schedule_id,
    job.periodic_tick_ms, job.crash_attempt > 0, octet_length(job.payload),
    case when with_payload then job.payload end, case when with_payload then job.headers end, job.key::text
  from (select 1) one
  left join :SCHEMA.lease l on l.lease_no = job.lease_no;
$$;
comment on function :SCHEMA.summarize is 'A job as get_job and list_jobs show it.';
revoke all on function :SCHEMA.summarize from public;
