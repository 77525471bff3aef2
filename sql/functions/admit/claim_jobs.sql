create or replace function :SCHEMA.claim_jobs(
  candidates :SCHEMA.candidate[], worker text, lease_id text, lease_ms bigint, at_ms bigint
)
returns setof :SCHEMA.claim
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_lease_no bigint;
  v_places tid[] := array(select c.tid from unnest(candidates) c);
begin
  insert into :SCHEMA.lease (lease_id, worker, claimed_at_ms, expires_at_ms, keys)
  values (claim_jobs.lease_id, claim_jobs.worker, at_ms, at_ms + lease_ms, array(select c.key from unnest(candidates) c))
  returning lease_no into v_lease_no;
  -- By their places, which can't change while the caller has them locked: that saves a descent into the index.
  return query
    with claimed as (
      update :SCHEMA.job j
      set state = 'running', fence = least(j.fence, 9223372036854775806) + 1, lease_no = v_lease_no, claimed_at_ms = claim_jobs.at_ms
      from unnest(v_places) with ordinality c(tid, n)
      where j.ctid = c.tid and j.state = 'available'
      returning c.n, j.key, j.id, j.kind, j.queue, j.partition_key, j.priority, j.attempt, j.crash_attempt,
        j.max_attempts, j.payload, j.schema_version, j.headers, j.fence, j.weight, j.rate_classes, j.timeout_ms,
        j.deadline_ms, j.enqueued_at_ms, j.scheduled_at_ms
    )
    select coalesce(c.id, 'j' || lpad(to_hex(c.key), 16, '0')), c.kind, c.queue, c.partition_key, c.priority, c.attempt,
      c.crash_attempt, c.max_attempts, c.payload, c.schema_version, c.headers, claim_jobs.lease_id, c.fence,
      at_ms + lease_ms,
      case when c.fence > 1 then (select x.checkpoint from :SCHEMA.job_extra x where x.key = c.key) end,
      case when c.fence > 1 then (select x.cursor from :SCHEMA.job_extra x where x.key = c.key) end,
      c.weight, c.rate_classes, c.timeout_ms, c.deadline_ms, c.enqueued_at_ms, c.scheduled_at_ms, null::jsonb,
      null::bigint
    from claimed c
    order by c.n;
end;
$$;
comment on function :SCHEMA.claim_jobs is
  'Writes state, fence and lease of jobs that the caller has drawn and locked, in one statement, and returns the claims in '
  'the order drawn.';
revoke all on function :SCHEMA.claim_jobs from public;
