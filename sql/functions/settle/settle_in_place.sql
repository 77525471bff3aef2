create or replace function :SCHEMA.settle_in_place(acks :SCHEMA.ack_input[])
returns :SCHEMA.settled_job[]
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
declare
  v_now bigint := :SCHEMA.now_ms();
  v_moved :SCHEMA.settled_job[];
begin
  with held as materialized (
    select a.*, h.tid, h.claimed_at_ms, h.charged, l.lease_no, l.worker, l.queue is not null as own_lease,
      coalesce(c.max_attempts, h.max_attempts) as max_attempts,
        coalesce(c.base_delay_ms, h.backoff_base_ms) as base_ms,
          coalesce(c.multiplier, h.backoff_multiplier) as multiplier,
      coalesce(c.max_delay_ms, h.backoff_max_ms) as max_ms,
      cast(case a.outcome
        when 'success' then 'completed'
        when 'retry' then case when h.attempt < coalesce(c.max_attempts, h.max_attempts) - 1 then 'retryable'
          else 'archived' end
        when 'skip' then 'archived'
        when 'snooze' then 'scheduled'
        when 'rate_limited' then 'available'
        else 'undecodable'
      end as :SCHEMA.job_state) as state
    from (select * from unnest(acks) u where u.outcome <> 'revoke' order by u.key) a
    cross join lateral (
      select j.ctid as tid, j.lease_no, j.claimed_at_ms, j.charged, j.attempt, j.max_attempts, j.kind,
        j.backoff_base_ms, j.backoff_multiplier, j.backoff_max_ms
      from :SCHEMA.job j
      where j.key = a.key and j.state = 'running' and j.fence = a.fence and (j.id is null or j.id = a.id)
        and (a.outcome <> 'success' or j.retention_ms is not null)
      offset 0) h
    cross join lateral (
      select o.* from :SCHEMA.lease o where o.lease_no = h.lease_no and o.lease_id = a.lease_id offset 0) l
    -- Jobs of the backend surface are retried as the policies of their task say now, or else as they said at
    -- its enqueue.
    left join lateral (
      select greatest(t.max_attempts, 1) as max_attempts, t.base_delay_ms, t.backoff_multiplier as multiplier,
        t.max_delay_ms
      from :SCHEMA.task_config t
      where a.outcome = 'retry' and h.backoff_base_ms is not null and t.task_name = h.kind
      offset 0) c on true
  ), moved as (
    update :SCHEMA.job j
    set state = h.state,
      max_attempts = h.max_attempts,
      attempt = case when h.outcome = 'retry' then least(j.attempt, 2147483646) + 1 else j.attempt end,
      scheduled_at_ms = case
        when h.state = 'retryable' then
          v_now + coalesce(h.delay_ms, :SCHEMA.policy_backoff_ms(h.base_ms, h.multiplier, h.max_ms,
            j.attempt), :SCHEMA.backoff_ms(j.attempt) + (random() * 1000)::bigint)
        when h.state = 'scheduled' then v_now + h.delay_ms
        else j.scheduled_at_ms
      end,
      finalized_at_ms = case when h.state in ('completed', 'archived', 'undecodable') then v_now end,
      evict_at_ms = case when h.state in ('completed', 'archived', 'undecodable') then
        v_now + coalesce(j.retention_ms, :SCHEMA.failed_retention_ms(j.queue)) end,
      lease_no = null, claimed_at_ms = null, charged = null
    from held h
    where j.ctid = h.tid and j.state = 'running' and j.fence = h.fence and j.lease_no = h.lease_no
    returning cast(row(h.ord, h.id, j.key, j.state, h.outcome, j.queue, j.partition_key, j.sticky_worker,
      j.class_key, j.priority, j.scheduled_at_ms, j.kind, j.attempt, j.fence, h.worker, h.claimed_at_ms,
        h.lease_no, h.own_lease,
      j.weight, coalesce(h.charged, j.rate_classes)) as :SCHEMA.settled_job) as settled
  )
  select array_agg(m.settled) into v_moved from moved m;
  return v_moved;
end;
$$;
comment on function :SCHEMA.settle_in_place is
  'The part of settle for jobs that stay: completed with retention, retried, snoozed, handed back, or ended '
  'badly.';
revoke all on function :SCHEMA.settle_in_place from public;
