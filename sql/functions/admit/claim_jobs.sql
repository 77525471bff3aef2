create or replace function :SCHEMA.claim_jobs(pass :SCHEMA.gate_pass, worker text, lease_id text,
  at_ms bigint, lease_ms bigint)
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
  v_leases bigint[];
begin
  if pass.own_leases is null then
    v_lease_no := :SCHEMA.open_lease(pass.keys, worker, lease_id, at_ms, at_ms + lease_ms);
  else
    v_leases := :SCHEMA.open_leases(pass, worker, lease_id, at_ms, at_ms + lease_ms);
  end if;
  -- By their places, which can't change while the caller has them locked: that saves a descent into the
  -- index. The plan is held to a loop over them, so the rows come back in the order chosen.
  return query
    update :SCHEMA.job j
    set state = 'running', fence = least(j.fence, 9223372036854775806) + 1,
      lease_no = coalesce(v_lease_no, v_leases[c.lane]), claimed_at_ms = claim_jobs.at_ms, charged = case
        when j.rate_classes is null or j.rate_classes <@ pass.charging then null
        when pass.charging is null then '{}'
        else array(select n from unnest(j.rate_classes) n where n = any (pass.charging))
      end
    from rows from (unnest(pass.places), unnest(pass.lane_of)) c(tid, lane)
    where j.ctid = c.tid and j.state = 'available'
    returning coalesce(j.id, 'j' || encode(int8send(j.key), 'hex')), j.kind, j.queue, j.partition_key,
      j.priority, j.attempt, j.crash_attempt, j.max_attempts, j.payload, j.schema_version, case
        when j.periodic_schedule_id is null then j.headers
        else coalesce(j.headers, '{}') || jsonb_build_object('headrace-schedule-id', j.periodic_schedule_id,
          'headrace-tick-ms', j.periodic_tick_ms::text)
      end, claim_jobs.lease_id, j.fence,
      claim_jobs.at_ms + claim_jobs.lease_ms,
      case when j.fence > 1 then (select x.checkpoint from :SCHEMA.job_extra x where x.key = j.key) end,
      case when j.fence > 1 then (select x.cursor from :SCHEMA.job_extra x where x.key = j.key) end,
      j.weight, j.rate_classes, j.timeout_ms, j.deadline_ms, j.enqueued_at_ms, j.scheduled_at_ms, null::jsonb,
      null::bigint, null::bigint;
end;
$$;
comment on function :SCHEMA.claim_jobs is
  'Writes state, fence and lease of jobs that the caller has drawn and locked, in one statement, and returns '
  'the claims in the order drawn. The job of a tick has two headers more, which say of which schedule and '
  'tick.';
revoke all on function :SCHEMA.claim_jobs from public;
