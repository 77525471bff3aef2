create or replace function :SCHEMA.bring_due(queues text[], most integer, at_ms bigint)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_next_ms bigint;
begin
  select min(d.scheduled_at_ms) into v_next_ms
  from unnest(bring_due.queues) q(queue)
  cross join lateral (
    select j.scheduled_at_ms
    from :SCHEMA.job j
    where j.queue = q.queue and j.stage = 0
    order by j.scheduled_at_ms, j.key
    limit 1) d;
  if v_next_ms > bring_due.at_ms or v_next_ms is null then
    return v_next_ms;
  end if;
  perform :SCHEMA.promote_jobs(array(
    select d.key
    from unnest(bring_due.queues) q(queue)
    cross join lateral (
      select j.key
      from :SCHEMA.job j
      where j.queue = q.queue and j.stage = 0 and j.scheduled_at_ms <= bring_due.at_ms
      order by j.scheduled_at_ms, j.key
      limit bring_due.most
      for update skip locked) d));
  select min(d.scheduled_at_ms) into v_next_ms
  from unnest(bring_due.queues) q(queue)
  cross join lateral (
    select j.scheduled_at_ms
    from :SCHEMA.job j
    where j.queue = q.queue and j.stage = 0 and j.scheduled_at_ms > bring_due.at_ms
    order by j.scheduled_at_ms, j.key
    limit 1) d;
  return v_next_ms;
end;
$$;
comment on function :SCHEMA.bring_due is
  'Makes due jobs of these queues available, a bounded number of each, so that none waits for the sweep; '
  'returns when the next one falls due, in ms, null where none waits for a time.';
revoke all on function :SCHEMA.bring_due from public;
