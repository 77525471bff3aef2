create or replace function :SCHEMA.expire_jobs(keys bigint[])
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_late :SCHEMA.job[];
begin
  with late as (
    update :SCHEMA.job j
    set state = 'archived', finalized_at_ms = v_now,
      evict_at_ms = v_now + coalesce(j.retention_ms, :SCHEMA.failed_retention_ms(j.queue))
    where j.key = any (keys) and j.state in ('scheduled', 'available', 'retryable') and j.deadline_ms <= v_now
    returning j.*
  )
  select array_agg(cast(l as :SCHEMA.job)) into v_late from late l;
  insert into :SCHEMA.tally (queue, at_ms, failed, depth)
  select l.queue, v_now, count(*), - count(*) from unnest(v_late) l group by l.queue;
  insert into :SCHEMA.attempt (job_key, job_id, kind, queue, attempt, finished_at_ms, outcome, error)
  select l.key, :SCHEMA.job_id(l.key, l.id), l.kind, l.queue, l.attempt, v_now, 'deadline_passed',
    'the deadline passed before the job could run'
  from unnest(v_late) l
  where not exists (select from :SCHEMA.queue q where q.queue = l.queue and q.history = 'none');
  return coalesce(cardinality(v_late), 0);
end;
$$;
comment on function :SCHEMA.expire_jobs is
  'Archives waiting jobs, which the caller found and locked, whose deadline has passed. Returns how many.';
revoke all on function :SCHEMA.expire_jobs from public;
