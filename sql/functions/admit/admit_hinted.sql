create or replace function :SCHEMA.admit_hinted(
  worker text, queues text[], capacity integer, lease_ms bigint, quantum integer default null,
    lease_id text default null, job_id text default null
)
returns setof :SCHEMA.claim
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_queues text[];
  v_flags :SCHEMA.gate_flags;
  v_paused boolean;
  v_asleep_until bigint;
  v_pass :SCHEMA.gate_pass;
  v_chosen :SCHEMA.batch;
  v_hint :SCHEMA.claim;
  v_now bigint;
  v_lease_id text := coalesce(lease_id, gen_random_uuid()::text);
  v_lease_no bigint;
  v_leases bigint[];
begin
  v_queues := :SCHEMA.check_admission(worker, queues, capacity, lease_ms, quantum, lease_id, job_id);
  -- Held by every admission, so that set_queue_paused and the like can wait for those that began before them.
  lock table :SCHEMA.lease in row exclusive mode;
  select exists (select from :SCHEMA.rate_class), exists (
      select from :SCHEMA.concurrency_limit m where m.queue = any (v_queues)),
    exists (select from :SCHEMA.quarantine), (select c.offset_ms from :SCHEMA.test_clock c),
    exists (select from :SCHEMA.queue p where p.queue = any (v_queues) and p.paused),
    (select s.until_ms from :SCHEMA.sleeper s where s.worker = admit_hinted.worker)
  into v_flags.classes, v_flags.ceilings, v_flags.quarantine, v_flags.offset_ms, v_paused,
    v_asleep_until;
  if v_paused then
    v_queues := array(
      select q.queue from unnest(v_queues) q(queue)
      where not exists (select from :SCHEMA.queue p where p.queue = q.queue and p.paused));
  end if;

  v_now := :SCHEMA.clock_ms(v_flags.offset_ms);
  v_hint.refused := '{}';
  if v_queues <> '{}' and job_id is null then
    v_hint.next_due_ms := :SCHEMA.bring_due(v_queues, capacity, v_now);
  end if;
  if capacity > 0 and v_queues <> '{}' then
    if job_id is null then
      v_pass := :SCHEMA.choose(v_queues, worker, capacity, quantum, v_flags, v_now);
    else
      v_pass := :SCHEMA.choose_named(v_queues, worker, job_id, v_flags, v_now);
    end if;
    v_now := coalesce(v_pass.decided_ms, v_now);
    v_chosen := v_pass.chosen;
    if v_chosen.keys is not null then
      if v_pass.own_leases is null then
        insert into :SCHEMA.lease (lease_id, worker, claimed_at_ms, expires_at_ms, keys)
        values (v_lease_id, admit_hinted.worker, v_now, v_now + admit_hinted.lease_ms, v_chosen.keys)
        returning lease_no into v_lease_no;
      else
        v_leases := :SCHEMA.open_leases(v_pass.demands, v_pass.own_leases, worker, v_lease_id, v_now,
          v_now + lease_ms);
      end if;
      -- By their places, which can't change while they are locked: that saves a descent into the index. The
      -- plan is held to a loop over them, so the rows come back in the order chosen.
      return query
        update :SCHEMA.job j
        set state = 'running', fence = least(j.fence, 9223372036854775806) + 1,
          lease_no = coalesce(v_lease_no, v_leases[c.lane]), claimed_at_ms = v_now, charged = case
            when j.rate_classes is null or j.rate_classes <@ v_pass.charging then null
            when v_pass.charging is null then '{}'
            else array(select n from unnest(j.rate_classes) n where n = any (v_pass.charging))
          end
        from (select unnest(v_chosen.places) as tid, unnest(v_chosen.lane_of) as lane) c
        where j.ctid = c.tid and j.state = 'available'
        returning coalesce(j.id, 'j' || encode(int8send(j.key), 'hex')), j.kind, j.queue, j.partition_key,
          j.priority, j.attempt, j.crash_attempt, j.max_attempts, j.payload, j.schema_version, case
            when j.periodic_schedule_id is null then j.headers
            else coalesce(j.headers, '{}') || jsonb_build_object('headrace-schedule-id',
              j.periodic_schedule_id, 'headrace-tick-ms', j.periodic_tick_ms::text)
          end, v_lease_id, j.fence, v_now + admit_hinted.lease_ms,
          case when j.fence > 1 then (select x.checkpoint from :SCHEMA.job_extra x where x.key = j.key) end,
          case when j.fence > 1 then (select x.cursor from :SCHEMA.job_extra x where x.key = j.key) end,
          j.weight, j.rate_classes, j.timeout_ms, j.deadline_ms, j.enqueued_at_ms, j.scheduled_at_ms,
          null::jsonb, null::bigint, null::bigint;
    end if;
    if v_pass.crowded or (v_pass.moves and v_chosen.keys is not null) then
      perform :SCHEMA.after_claim(v_pass, v_now);
    end if;
    -- One job alone does not keep a worker busy that has room for more: it would only declare again.
    if v_asleep_until is not null and (cardinality(v_chosen.keys) > 1
      or cardinality(v_chosen.keys) = capacity) then
      delete from :SCHEMA.sleeper s where s.worker = admit_hinted.worker;
      v_asleep_until := null;
    end if;
    if v_pass.refusals <> '{}' then
      v_hint.refused := :SCHEMA.count_refusals(v_pass.refusals, v_now);
    end if;
    v_hint.next_due_ms := least(v_hint.next_due_ms, v_pass.ready_ms);
  end if;
  v_hint.expires_at_ms := v_asleep_until;
  v_hint.store_now_ms := v_now;
  return next v_hint;
end;
$$;
comment on function :SCHEMA.admit_hinted is
  'What admit does, for drivers: the claims, and behind them one row without an id that tells in refused how '
  'many candidates were held back for which reason, and in next_due_ms when the next waiting job falls due '
  'or a rate class that held jobs back has a token again (null: nothing waits for a time), by the clock that '
  'store_now_ms tells; in expires_at_ms, until when the worker''s declaration of sleep stands (null: it does '
  'not). The claims have state, fence and lease written in one statement; the job of a tick has two headers '
  'more, which say of which schedule and tick. job_id: claim only this job, by the same policies but without '
  'its turn; no claim where it can''t run now. Errors: HR007.';
revoke all on function :SCHEMA.admit_hinted from public;
