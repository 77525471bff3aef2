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
  with moved as (
    update :SCHEMA.job j
    set state = n.state,
      attempt = case when a.outcome = 'retry' then least(j.attempt, 2147483646) + 1 else j.attempt end,
      scheduled_at_ms = case
        when n.state = 'retryable' then v_now + coalesce(a.delay_ms, :SCHEMA.backoff_ms(j.attempt) + (random() * 1000)::bigint)
        when n.state = 'scheduled' then v_now + a.delay_ms
        else j.scheduled_at_ms
      end,
      finalized_at_ms = case when n.state in ('completed', 'archived', 'undecodable') then v_now end,
      evict_at_ms = case when n.state in ('completed', 'archived', 'undecodable') then
        v_now + coalesce(j.retention_ms, :SCHEMA.failed_retention_ms(j.queue)) end,
      lease_no = null, claimed_at_ms = null, charged = null
    from (select * from unnest(acks) u where u.outcome <> 'revoke' order by u.key) a, :SCHEMA.lease l,
      lateral (
        -- max_attempts is looked up here only to name the state; the row itself is checked below.
        select o.key, o.claimed_at_ms, o.charged, cast(case a.outcome
          when 'success' then 'completed'
          when 'retry' then case when o.attempt < o.max_attempts - 1 then 'retryable' else 'archived' end
          when 'skip' then 'archived'
          when 'snooze' then 'scheduled'
          when 'rate_limited' then 'available'
          else 'undecodable'
        end as :SCHEMA.job_state) as state
        from :SCHEMA.job o
        where o.key = a.key) n
    where j.key = n.key and j.state = 'running' and j.fence = a.fence and (j.id is null or j.id = a.id)
      and l.lease_no = j.lease_no and l.lease_id = a.lease_id
      and (a.outcome <> 'success' or j.retention_ms is not null)
    returning cast(row(a.ord, a.id, j.key, j.state, a.outcome, j.queue, j.partition_key, j.sticky_worker, j.class_key, j.priority,
      j.scheduled_at_ms, j.kind, j.attempt, j.fence, l.worker, n.claimed_at_ms, l.lease_no, l.queue is not null,
      j.weight, n.charged) as :SCHEMA.settled_job) as settled
  )
  select array_agg(m.settled) into v_moved from moved m;
  return v_moved;
end;
$$;
comment on function :SCHEMA.settle_in_place is
  'The part of settle for jobs that stay: completed with retention, retried, snoozed, handed back, or ended badly.';
revoke all on function :SCHEMA.settle_in_place from public;
