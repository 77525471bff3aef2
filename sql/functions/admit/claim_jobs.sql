create or replace function :SCHEMA.claim_jobs(
  candidates :SCHEMA.candidate[], worker text, lease_id text, lease_ms bigint, at_ms bigint
)
returns setof :SCHEMA.claim
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_lease_no bigint;
  v_keys bigint[] := array(select c.key from unnest(candidates) with ordinality c order by c.ordinality);
begin
  insert into :SCHEMA.lease (lease_id, worker, claimed_at_ms, expires_at_ms, keys)
  values (claim_jobs.lease_id, claim_jobs.worker, at_ms, at_ms + lease_ms, v_keys)
  returning lease_no into v_lease_no;
  return query
    with claimed as (
      update :SCHEMA.job j
      set state = 'running', fence = j.fence + 1, lease_no = v_lease_no, claimed_at_ms = claim_jobs.at_ms
      where j.key = any (v_keys) and j.state = 'available'
      returning j.*
    )
    select :SCHEMA.job_id(c.key, c.id), c.kind, c.queue, c.partition_key, c.priority, c.attempt,
      c.crash_attempt, c.max_attempts, c.payload, c.schema_version, c.headers, claim_jobs.lease_id, c.fence,
        at_ms + lease_ms,
      x.checkpoint, x.cursor, c.weight, c.rate_classes, c.timeout_ms, c.deadline_ms, c.enqueued_at_ms,
      c.scheduled_at_ms, null::jsonb, null::bigint
    from unnest(v_keys) with ordinality k(key, n)
    join claimed c on c.key = k.key
    left join :SCHEMA.job_extra x on x.key = c.key and (c.attempt > 0 or c.fence > 1)
    order by k.n;
end;
$$;
comment on function :SCHEMA.claim_jobs is
  'Writes state, fence and lease of jobs that the caller has drawn and locked, in one statement, and returns '
  'the claims in the order drawn.';
revoke all on function :SCHEMA.claim_jobs from public;
