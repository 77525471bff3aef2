create or replace function :SCHEMA.list_attempts(job_id text, max_rows integer default 50)
returns table (
  no bigint, attempt integer, fence bigint, worker text, started_at_ms bigint, finished_at_ms bigint,
    outcome text,
  error text, logs jsonb
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('job_id', list_attempts.job_id, 255);
  perform :SCHEMA.check_max_rows(max_rows, 200);
  return query
    select a.no, a.attempt, a.fence, a.worker, a.started_at_ms, a.finished_at_ms, a.outcome, a.error, a.logs
    from :SCHEMA.attempt a
    where a.job_key = :SCHEMA.job_key(list_attempts.job_id)
    order by a.no desc
    limit max_rows;
end;
$$;
comment on function :SCHEMA.list_attempts is
  'The history of a job, newest first, at most 200 entries; what is kept depends on the queue '
  '(set_history_policy). Errors: HR007.';
revoke all on function :SCHEMA.list_attempts from public;
