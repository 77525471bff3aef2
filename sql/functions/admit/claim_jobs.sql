create or replace function :SCHEMA.claim_jobs(pass :SCHEMA.gate_pass, worker text, lease_id text,
  lease_ms bigint)
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
  v_places tid[] := array(select c.tid from unnest(pass.chosen) c);
  v_now bigint := :SCHEMA.now_ms();
  v_keys bigint[];
  v_leases bigint[];
  v_lease_no bigint;
begin
  v_keys := array(select c.key from unnest(pass.chosen) c
    where c.queue <> all (coalesce(pass.own_leases, '{}')));
  if v_keys <> '{}' then
    insert into :SCHEMA.lease (lease_id, worker, claimed_at_ms, expires_at_ms, keys)
    values (claim_jobs.lease_id, claim_jobs.worker, v_now, v_now + lease_ms, v_keys)
    returning lease_no into v_lease_no;
  end if;
  if pass.own_leases is null then
    v_leases := array_fill(v_lease_no, array[cardinality(pass.chosen)]);
  else
    -- One lease for each partition under a ceiling, by which its running jobs are counted (running_in).
    with own as (
      insert into :SCHEMA.lease (lease_id, worker, queue, partition_key, claimed_at_ms, expires_at_ms, keys)
      select claim_jobs.lease_id, claim_jobs.worker, c.queue, c.partition_key, v_now, v_now + lease_ms,
        array_agg(c.key)
      from unnest(pass.chosen) c
      where c.queue = any (pass.own_leases)
      group by c.queue, c.partition_key
      returning lease_no, queue, partition_key
    )
    select array_agg(coalesce(o.lease_no, v_lease_no) order by c.ordinality)
    into v_leases
    from unnest(pass.chosen) with ordinality c
    left join own o on o.queue = c.queue and o.partition_key = c.partition_key;
  end if;
  -- By their places, which can't change while the caller has them locked: that saves a descent into the
  -- index. The plan is held to a loop over them, so the rows come back in the order chosen.
  return query
    update :SCHEMA.job j
    set state = 'running', fence = least(j.fence, 9223372036854775806) + 1, lease_no = c.lease_no,
      claimed_at_ms = v_now, charged = case
        when j.rate_classes <@ pass.charging then j.rate_classes
        when j.rate_classes && pass.charging then
          array(select n from unnest(j.rate_classes) n where n = any (pass.charging))
      end
    from rows from (unnest(v_places), unnest(v_leases)) c(tid, lease_no)
    where j.ctid = c.tid and j.state = 'available'
    returning coalesce(j.id, 'j' || lpad(to_hex(j.key), 16, '0')), j.kind, j.queue, j.partition_key,
      j.priority, j.attempt, j.crash_attempt, j.max_attempts, j.payload, j.schema_version, j.headers,
        claim_jobs.lease_id, j.fence,
      v_now + lease_ms,
      case when j.fence > 1 then (select x.checkpoint from :SCHEMA.job_extra x where x.key = j.key) end,
      case when j.fence > 1 then (select x.cursor from :SCHEMA.job_extra x where x.key = j.key) end,
      j.weight, j.rate_classes, j.timeout_ms, j.deadline_ms, j.enqueued_at_ms, j.scheduled_at_ms, null::jsonb,
      null::bigint, null::bigint;
end;
$$;
comment on function :SCHEMA.claim_jobs is
  'Writes state, fence and lease of jobs that the caller has drawn and locked, in one statement, and returns '
  'the claims in the order drawn.';
revoke all on function :SCHEMA.claim_jobs from public;
