create or replace function :SCHEMA.admit_hinted(
  worker text, queues text[], capacity integer, lease_ms bigint, quantum integer default null,
    lease_id text default null
)
returns setof :SCHEMA.claim
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_queues text[];
  v_pass :SCHEMA.gate_pass;
  v_hint :SCHEMA.claim;
  v_now bigint;
  v_limited boolean;
  v_quarantined boolean;
  v_paused boolean;
begin
  v_queues := :SCHEMA.check_admission(worker, queues, capacity, lease_ms, quantum, lease_id);
  -- Held by every admission, so that set_queue_paused and the like can wait for those that began before them.
  lock table :SCHEMA.lease in row exclusive mode;
  select exists (select from :SCHEMA.rate_class) or exists (select from :SCHEMA.concurrency_limit),
    exists (select from :SCHEMA.quarantine),
    exists (select from :SCHEMA.queue p where p.queue = any (v_queues) and p.paused)
  into v_limited, v_quarantined, v_paused;
  if v_paused then
    v_queues := array(
      select q.queue from unnest(v_queues) q(queue)
      where not exists (select from :SCHEMA.queue p where p.queue = q.queue and p.paused));
  end if;

  v_now := :SCHEMA.now_ms();
  v_hint.refused := '{}';
  if capacity > 0 and v_queues <> '{}' then
    v_hint.next_due_ms := :SCHEMA.bring_due(v_queues, capacity, v_now);
    v_pass := :SCHEMA.choose(v_queues, worker, capacity, quantum, v_limited, v_quarantined,
      v_now);
    v_now := coalesce(v_pass.decided_ms, v_now);
    if v_pass.keys is not null then
      return query
        select * from :SCHEMA.claim_jobs(v_pass, worker, coalesce(lease_id, gen_random_uuid()::text),
          v_now, lease_ms);
    end if;
    if v_pass.keys is not null or v_pass.crowded then
      perform :SCHEMA.after_claim(v_pass, worker, v_now);
    end if;
    if v_pass.refusals <> '{}' then
      v_hint.refused := :SCHEMA.count_refusals(v_pass.refusals, v_now);
    end if;
    v_hint.next_due_ms := least(v_hint.next_due_ms, v_pass.ready_ms);
  end if;
  v_hint.store_now_ms := v_now;
  return next v_hint;
end;
$$;
comment on function :SCHEMA.admit_hinted is
  'What admit does, for drivers: the claims, and behind them one row without an id that tells in refused how '
  'many candidates were held back for which reason, and in next_due_ms when the next waiting job falls due '
  'or a rate class that held jobs back has a token again (null: nothing waits for a time), by the clock that '
  'store_now_ms tells. Errors: HR007.';
revoke all on function :SCHEMA.admit_hinted from public;
