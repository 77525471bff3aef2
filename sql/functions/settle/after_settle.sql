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
  v_leases bigint[];
  v_queues text[];
  v_deleted boolean;
  v_handed_back boolean;
  v_result boolean;
  v_weighed boolean;
begin
  insert into :SCHEMA.tally (queue, at_ms, completed, failed, depth)
  select s.queue, v_now,
    count(*) filter (where s.outcome = 'success'),
    count(*) filter (where s.outcome in ('retry', 'skip', 'undecodable', 'checkpoint_stale')),
    - count(*) filter (where s.state in ('deleted', 'completed', 'archived', 'undecodable'))
  from unnest(settled) s
  group by s.queue;
  select array_agg(s.lease_no) filter (where s.own_lease), array_agg(s.queue) filter (where s.own_lease),
    bool_or(s.state = 'deleted'), bool_or(s.state = 'available')
  into v_leases, v_queues, v_deleted, v_handed_back
  from unnest(settled) s;
  select bool_or(a.result is not null), bool_or(a.actual_weight is not null)
  into v_result, v_weighed
  from unnest(acks) a;
  if v_deleted then
    -- By key even where the table may be empty: to ask would walk the remains of all that was deleted from
    -- it.
    delete from :SCHEMA.job_extra x
    where x.key = any (array(select s.key from unnest(settled) s where s.state = 'deleted'));
  end if;
  if v_leases is not null then
    perform :SCHEMA.free_places(v_leases, v_queues);
  end if;
  if v_result then
    insert into :SCHEMA.job_extra as x (key, result_schema_version, result)
    select s.key, coalesce(a.result_schema_version, 1), a.result
    from unnest(settled) s
    join unnest(acks) a on a.ord = s.ord
    where s.state = 'completed' and a.result is not null
    on conflict (key) do update
      set result_schema_version = excluded.result_schema_version, result = excluded.result;
  end if;
  if v_weighed then
    perform :SCHEMA.reconcile_charges(acks, settled);
  end if;
  perform :SCHEMA.record_attempts(acks, settled, v_now);
  if v_handed_back then
    perform :SCHEMA.open_lanes((
      select array_agg(cast(row(s.queue, s.partition_key, s.sticky_worker, s.class_key, s.priority,
        s.scheduled_at_ms, s.key) as :SCHEMA.lane_entry))
      from unnest(settled) s
      where s.state = 'available'));
  end if;
end;
$$;
comment on function :SCHEMA.after_settle is
  'What follows the end of attempts: counts, results, history, leases of their own, and the way back into '
  'line.';
revoke all on function :SCHEMA.after_settle from public;
