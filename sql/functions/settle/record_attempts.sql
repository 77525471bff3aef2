create or replace function :SCHEMA.record_attempts(
  acks :SCHEMA.ack_input[], settled :SCHEMA.settled_job[], at_ms bigint
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_hashjoin = on
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_all text[] := array(select q.queue from :SCHEMA.queue q where q.history = 'all');
  v_none text[] := array(select q.queue from :SCHEMA.queue q where q.history = 'none');
  v_closed bigint[] := '{}';
  v_kept boolean;
begin
  -- Nothing is, of most batches.
  v_kept := exists (
      select from unnest(settled) s
      where s.outcome <> 'success' or s.state <> 'deleted' or s.queue = any (v_all))
    or exists (select from unnest(acks) a where a.logs is not null);
  -- By key: what is left of runs that were closed is not walked.
  if exists (
    select from :SCHEMA.attempt o
    where o.finished_at_ms is null and o.job_key = any (array(select s.key from unnest(settled) s))) then
    v_closed := :SCHEMA.close_runs(array(
      select cast(row(s.key, s.fence, s.outcome, :SCHEMA.mask_secrets(a.error), a.logs) as :SCHEMA.run_end)
      from unnest(settled) s
      join unnest(acks) a on a.ord = s.ord), at_ms);
  end if;
  if v_kept then
    insert into :SCHEMA.attempt (
      job_key, job_id, kind, queue, attempt, fence, worker, started_at_ms, finished_at_ms, outcome, error,
        logs)
    select s.key, s.id, s.kind, s.queue, case when s.outcome = 'retry' then s.attempt
      else least(s.attempt, 2147483646) + 1 end, s.fence, s.worker, s.claimed_at_ms, record_attempts.at_ms,
        s.outcome, :SCHEMA.mask_secrets(a.error), a.logs
    from unnest(settled) s
    join unnest(acks) a on a.ord = s.ord
    where s.outcome not in ('snooze', 'rate_limited', 'revoke')
      and (s.outcome <> 'success' or a.logs is not null or s.queue = any (v_all)
        or s.state = 'completed' and (
          -- Not exists (): the planner would read the whole table once to answer it.
          select j.backoff_base_ms is not null from :SCHEMA.job j where j.key = s.key))
      and s.queue <> all (v_none) and s.key <> all (v_closed);
  end if;
  if v_kept or v_closed <> '{}' then
    perform :SCHEMA.trim_attempts(s.key) from unnest(settled) s where s.attempt >= 50;
  end if;
end;
$$;
comment on function :SCHEMA.record_attempts is
  'Writes the history that the queue''s policy keeps: failures (and what has logs), all, or none. Of jobs of '
  'the backend surface successes too, and runs that a claim has opened are closed. Snoozes, hand-backs and '
  'revokes leave none.';
revoke all on function :SCHEMA.record_attempts from public;
