create or replace function :SCHEMA.after_settle(acks :SCHEMA.ack_input[], settled :SCHEMA.settled_job[])
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_hashjoin = on
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
begin
  insert into :SCHEMA.tally (queue, at_ms, completed, failed, depth)
  select s.queue, v_now,
    count(*) filter (where s.outcome = 'success'),
    count(*) filter (where s.outcome in ('retry', 'skip', 'undecodable', 'checkpoint_stale')),
    - count(*) filter (where s.state in ('deleted', 'completed', 'archived', 'undecodable'))
  from unnest(settled) s
  group by s.queue;
  delete from :SCHEMA.job_extra x
  where x.key in (select s.key from unnest(settled) s where s.state = 'deleted');
  if exists (select from unnest(settled) s where s.own_lease) then
    perform :SCHEMA.drop_leases(array(select distinct s.lease_no from unnest(settled) s where s.own_lease));
    -- A place under a ceiling is free: whoever waits for it may sleep.
    perform :SCHEMA.wake_workers(array(select distinct s.queue from unnest(settled) s where s.own_lease));
  end if;
  if exists (select from unnest(acks) a where a.result is not null) then
    insert into :SCHEMA.job_extra as x (key, result_schema_version, result)
    select s.key, coalesce(a.result_schema_version, 1), a.result
    from unnest(settled) s
    join unnest(acks) a on a.ord = s.ord
    where s.state = 'completed' and a.result is not null
    on conflict (key) do update
      set result_schema_version = excluded.result_schema_version, result = excluded.result;
  end if;
  if exists (select from unnest(acks) a where a.actual_weight is not null) then
    perform :SCHEMA.reconcile_charges(acks, settled);
  end if;
  perform :SCHEMA.record_attempts(acks, settled, v_now);
  perform :SCHEMA.open_lanes((
    select array_agg(cast(row(s.queue, s.partition_key, s.sticky_worker, s.class_key, s.priority,
      s.scheduled_at_ms, s.key) as :SCHEMA.lane_entry))
    from unnest(settled) s
    where s.state = 'available'));
end;
$$;
comment on function :SCHEMA.after_settle is
  'What follows the end of attempts: counts, results, history, leases of their own, and the way back into '
  'line.';
revoke all on function :SCHEMA.after_settle from public;
