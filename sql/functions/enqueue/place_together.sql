create or replace function :SCHEMA.place_together(jobs :SCHEMA.job_input[], at_ms bigint)
returns :SCHEMA.placed_job[]
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_sequence regclass := quote_ident(:SCHEMA_LITERAL) || '.job_key_seq';
  v_counted text[] := :SCHEMA.counted_kinds(array(select j.kind from unnest(jobs) j));
  v_quarantine boolean := exists (select from :SCHEMA.quarantine);
  v_keys bigint[] := array(select nextval(v_sequence) from unnest(jobs));
  v_inserted bigint;
  v_lanes :SCHEMA.lane_entry[];
begin
  -- In this order, as one by one, so that two batches with the same keys wait for each other instead of
  -- deadlocking.
  with placed as (
    insert into :SCHEMA.job (
      key, state, max_attempts, priority, weight, schema_version, enqueued_at_ms, scheduled_at_ms, queue,
      partition_key, kind, payload, id, fingerprint, rate_classes, unique_key, timeout_ms, deadline_ms,
      retention_ms, headers, tags, sticky_worker, class_key, periodic_schedule_id, periodic_tick_ms, counted)
    select v_keys[j.ord],
      cast(case when j.pending then 'pending' when s.start_ms > place_together.at_ms then 'scheduled'
        else 'available' end as :SCHEMA.job_state),
      j.max_attempts, j.priority, j.weight, j.schema_version, place_together.at_ms, s.start_ms, j.queue,
      j.partition_key, j.kind, j.payload, j.id, j.fingerprint, j.rate_classes, j.unique_key, j.timeout_ms,
      j.deadline_ms, j.retention_ms, j.headers, j.tags, j.sticky_worker,
      case when j.rate_classes is null then '' else :SCHEMA.class_key(j.rate_classes) end,
      j.periodic_schedule_id, j.periodic_tick_ms, nullif(j.kind = any (v_counted), false)
    from unnest(jobs) j
    cross join lateral (
      select coalesce(j.scheduled_at_ms, place_together.at_ms + coalesce(j.delay_ms, 0)) as start_ms) s
    where not (v_quarantine and exists (select from :SCHEMA.quarantine q
        where q.fingerprint = coalesce(j.fingerprint, :SCHEMA.fingerprint(j.kind, j.payload))))
    order by j.unique_key nulls first, j.id nulls first, j.ord
    on conflict do nothing
    returning key, state, queue, partition_key, sticky_worker, class_key, priority, scheduled_at_ms
  ), lines as (
    select p.queue, p.partition_key, p.sticky_worker, p.class_key, p.priority, p.state, count(*) as jobs,
      min(p.scheduled_at_ms) as at_ms, min(p.key) as key
    from placed p
    group by p.queue, p.partition_key, p.sticky_worker, p.class_key, p.priority, p.state
  ), counted as (
    insert into :SCHEMA.tally (queue, at_ms, arrived, depth)
    select l.queue, place_together.at_ms, sum(l.jobs), sum(l.jobs) from lines l group by l.queue
  )
  select sum(l.jobs),
    array_agg(cast(row(l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority, l.at_ms, l.key)
      as :SCHEMA.lane_entry)) filter (where l.state = 'available')
  into v_inserted, v_lanes
  from lines l;
  perform :SCHEMA.open_lanes(v_lanes);
  if v_inserted = cardinality(jobs) then
    return array(
      select cast(row(j.ord, v_keys[j.ord], coalesce(j.id, 'j' || lpad(to_hex(v_keys[j.ord]), 16, '0')),
        'inserted', null, false, null) as :SCHEMA.placed_job)
      from unnest(jobs) j
      order by j.ord);
  end if;
  return :SCHEMA.met_jobs(jobs, v_keys);
end;
$$;
comment on function :SCHEMA.place_together is
  'Inserts jobs of a list, numbered from 1 and without windows, in one statement, and says what became of '
  'each. Fails, for the caller to undo it and place them one by one, where a job that stood in the way of '
  'one has ended meanwhile: its key is free, but not any more in order.';
revoke all on function :SCHEMA.place_together from public;
