create or replace function :SCHEMA.evict_jobs(keys bigint[])
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_now bigint := :SCHEMA.now_ms();
  v_gone bigint;
begin
  insert into :SCHEMA.job_archive (
    evicted_at_ms, expires_at_ms, key, job_id, kind, queue, partition_key, state, schema_version, payload,
      headers, tags,
    fingerprint, attempt, crash_attempt, enqueued_at_ms, finalized_at_ms, attempts)
  select v_now, v_now + p.retention_ms, j.key, :SCHEMA.job_id(j.key, j.id), j.kind, j.queue, j.partition_key,
    j.state, j.schema_version, j.payload, j.headers, j.tags,
      coalesce(j.fingerprint, :SCHEMA.fingerprint(j.kind, j.payload)),
    j.attempt, j.crash_attempt, j.enqueued_at_ms, j.finalized_at_ms,
    (select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        'attempt', a.attempt, 'fence', a.fence, 'worker', a.worker, 'started_at_ms', a.started_at_ms,
        'finished_at_ms', a.finished_at_ms, 'outcome', a.outcome, 'error', a.error, 'logs',
          a.logs)) order by a.no)
     from :SCHEMA.attempt a where a.job_key = j.key)
  from :SCHEMA.job j
  join :SCHEMA.archive_policy p on p.queue = j.queue
  where j.key = any (keys) and j.state in ('completed', 'archived', 'cancelled', 'undecodable');
  delete from :SCHEMA.job j
  where j.key = any (keys) and j.state in ('completed', 'archived', 'cancelled', 'undecodable');
  get diagnostics v_gone = row_count;
  delete from :SCHEMA.job_extra x where x.key = any (keys);
  delete from :SCHEMA.attempt a where a.job_key = any (keys);
  return v_gone;
end;
$$;
comment on function :SCHEMA.evict_jobs is
  'Deletes finished jobs, which the caller has found and locked, with what belongs to them, and copies them '
  'to the archive where their queue has an archive policy: both or neither.';
revoke all on function :SCHEMA.evict_jobs from public;
