create or replace function :SCHEMA.lose_leases(keys bigint[])
returns table (id text, crash_attempt integer, quarantined boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_lost :SCHEMA.job[];
  v_closed bigint[] := '{}';
begin
  if exists (select from :SCHEMA.attempt o where o.finished_at_ms is null) then
    v_closed := :SCHEMA.close_runs(array(
      select cast(row(j.key, j.fence, 'lease_lost', 'the lease expired while ' || l.worker || ' held the job',
        null)
        as :SCHEMA.run_end)
      from :SCHEMA.job j
      join :SCHEMA.lease l on l.lease_no = j.lease_no
      where j.key = any (lose_leases.keys) and j.state = 'running'), v_now);
  end if;
  insert into :SCHEMA.attempt (
    job_key, job_id, kind, queue, attempt, fence, worker, started_at_ms, finished_at_ms, outcome, error)
  select j.key, :SCHEMA.job_id(j.key, j.id), j.kind, j.queue, least(j.attempt, 2147483646) + 1, j.fence,
    l.worker, j.claimed_at_ms, v_now, 'lease_lost', 'the lease expired while ' || l.worker || ' held the job'
  from :SCHEMA.job j
  join :SCHEMA.lease l on l.lease_no = j.lease_no
  where j.key = any (lose_leases.keys) and j.state = 'running' and j.key <> all (v_closed)
    and not exists (select from :SCHEMA.queue q where q.queue = j.queue and q.history = 'none');
  update :SCHEMA.job_extra x
  set checkpoint = jsonb_set(x.checkpoint, array['crashes'],
    -- What is there is the caller's; whatever it is, the job must get away from its dead worker.
    case when jsonb_typeof(x.checkpoint -> 'crashes') = 'object' then x.checkpoint -> 'crashes' else '{}' end
    || jsonb_build_object(x.checkpoint ->> 'in_progress', 1 + coalesce(
      substring(x.checkpoint #>> array['crashes', x.checkpoint ->> 'in_progress']
        from '^[0-9]{1,9}$')::integer, 0)))
  where x.key = any (lose_leases.keys) and x.checkpoint ->> 'in_progress' is not null;

  with lost as (
    update :SCHEMA.job j
    set state = cast(case when j.crash_attempt < :SCHEMA.crash_limit() - 1 then 'retryable'
      else 'quarantined' end
        as :SCHEMA.job_state),
      crash_attempt = least(j.crash_attempt, 2147483646) + 1,
      scheduled_at_ms = v_now + :SCHEMA.backoff_ms(j.crash_attempt),
      finalized_at_ms = case when j.crash_attempt < :SCHEMA.crash_limit() - 1 then null else v_now end,
      quarantined_as = case when j.crash_attempt >= :SCHEMA.crash_limit() - 1 then
        coalesce(j.fingerprint, :SCHEMA.fingerprint(j.kind, j.payload)) end,
      lease_no = null, claimed_at_ms = null, charged = null
    where j.key = any (lose_leases.keys) and j.state = 'running'
    returning j.*
  )
  select array_agg(cast(l as :SCHEMA.job)) into v_lost from lost l;

  insert into :SCHEMA.quarantine as q (fingerprint, kind, crash_count, quarantined_at_ms, sample_payload,
    reason)
  select distinct on (f.fingerprint) f.fingerprint, l.kind, l.crash_attempt, v_now, l.payload,
    'its workers died ' || l.crash_attempt || ' times'
  from unnest(v_lost) l
  cross join lateral (select coalesce(l.fingerprint, :SCHEMA.fingerprint(l.kind, l.payload)) as fingerprint) f
  where l.state = 'quarantined'
  order by f.fingerprint, l.crash_attempt desc
  on conflict (fingerprint) do update
    set crash_count = greatest(q.crash_count, excluded.crash_count),
      quarantined_at_ms = excluded.quarantined_at_ms;
  insert into :SCHEMA.tally (queue, at_ms, failed, depth)
  select l.queue, v_now, count(*), - count(*) filter (where l.state = 'quarantined')
  from unnest(v_lost) l
  group by l.queue;
  perform :SCHEMA.trim_attempts(l.key) from unnest(v_lost) l where l.attempt::bigint + l.crash_attempt >= 50;
  return query
    select :SCHEMA.job_id(l.key, l.id), l.crash_attempt, l.state = 'quarantined'
      from unnest(v_lost) l order by l.key;
end;
$$;
comment on function :SCHEMA.lose_leases is
  'Ends the attempts of running jobs, which the caller has found expired and locked, as lease_lost.';
revoke all on function :SCHEMA.lose_leases from public;
