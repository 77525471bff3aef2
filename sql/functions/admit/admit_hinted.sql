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
  v_next_ms bigint;
begin
  v_queues := :SCHEMA.check_admission(worker, queues, capacity, lease_ms, quantum, lease_id);
  -- Held by every admission, so that set_queue_paused and the like can wait for those that began before them.
  lock table :SCHEMA.lease in row exclusive mode;
  v_queues := array(
    select q.queue from unnest(v_queues) q(queue)
    where not exists (select from :SCHEMA.queue p where p.queue = q.queue and p.paused));

  if capacity > 0 and v_queues <> '{}' then
    v_next_ms := :SCHEMA.bring_due(v_queues, capacity);
    v_pass := :SCHEMA.choose(v_queues, worker, capacity, quantum);
    if v_pass.chosen <> '{}' then
      return query
        select * from :SCHEMA.claim_jobs(v_pass, worker, coalesce(lease_id, gen_random_uuid()::text),
          lease_ms);
    end if;
    if v_pass.chosen <> '{}' or v_pass.crowded then
      perform :SCHEMA.after_claim(v_pass, worker);
    end if;
    if v_pass.refusals <> '{}' then
      insert into :SCHEMA.tally (queue, at_ms, refused)
      select r.queue, :SCHEMA.now_ms(), jsonb_object_agg(r.reason, r.n)
      from (select u.queue, u.reason, sum(u.n) as n from unnest(v_pass.refusals) u group by u.queue,
        u.reason) r
      group by r.queue;
    end if;
  end if;
  return query
    select null, null, null, null, null::integer, null::integer, null::integer, null::integer, null::bytea,
      null::integer, null::jsonb, null, null::bigint, null::bigint, null::jsonb, null::bytea, null::integer,
      null::text[], null::bigint, null::bigint, null::bigint, null::bigint,
      coalesce((
        select jsonb_object_agg(r.reason, r.n)
        from (select u.reason, sum(u.n) as n from unnest(v_pass.refusals) u group by u.reason) r), '{}'),
      least(v_next_ms, v_pass.ready_ms), :SCHEMA.now_ms();
end;
$$;
comment on function :SCHEMA.admit_hinted is
  'What admit does, for drivers: the claims, and behind them one row without an id that tells in refused how '
  'many candidates were held back for which reason, and in next_due_ms when the next waiting job falls due '
  'or a rate class that held jobs back has a token again (null: nothing waits for a time), '
  'by the clock that store_now_ms tells.';
revoke all on function :SCHEMA.admit_hinted from public;
