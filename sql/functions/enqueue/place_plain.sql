create or replace function :SCHEMA.place_plain(jobs :SCHEMA.job_input[], at_ms bigint)
returns :SCHEMA.placed_job[]
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_counted text[] := :SCHEMA.counted_kinds(array(select j.kind from unnest(jobs) j));
  v_keys bigint[];
  v_lanes :SCHEMA.lane_entry[];
begin
  with placed as (
    insert into :SCHEMA.job (
      state, max_attempts, priority, weight, schema_version, enqueued_at_ms, scheduled_at_ms, queue,
        partition_key, kind,
      payload, fingerprint, rate_classes, timeout_ms, deadline_ms, retention_ms, headers, tags, sticky_worker,
      class_key, periodic_schedule_id, periodic_tick_ms, counted)
    select
      cast(case when j.pending then 'pending' when s.start_ms > place_plain.at_ms then 'scheduled'
        else 'available' end
        as :SCHEMA.job_state),
      j.max_attempts, j.priority, j.weight, j.schema_version, place_plain.at_ms, s.start_ms, j.queue,
        j.partition_key,
      j.kind, j.payload, j.fingerprint, j.rate_classes, j.timeout_ms, j.deadline_ms, j.retention_ms,
        j.headers, j.tags,
      j.sticky_worker, case when j.rate_classes is null then '' else :SCHEMA.class_key(j.rate_classes) end,
      j.periodic_schedule_id, j.periodic_tick_ms, nullif(j.kind = any (v_counted), false)
    from unnest(jobs) j
    cross join lateral (
      select coalesce(j.scheduled_at_ms, place_plain.at_ms + coalesce(j.delay_ms, 0)) as start_ms) s
    order by j.ord
    returning key, state, queue, partition_key, sticky_worker, class_key, priority, scheduled_at_ms
  ), counted as (
    insert into :SCHEMA.tally (queue, at_ms, arrived, depth)
    select p.queue, place_plain.at_ms, count(*), count(*) from placed p group by p.queue
  )
  select
    (select array_agg(p.key order by p.key) from placed p),
    (select array_agg(cast(row(e.queue, e.partition_key, e.sticky_worker, e.class_key, e.priority, e.at_ms,
      e.key) as :SCHEMA.lane_entry))
     from (
       select p.queue, p.partition_key, p.sticky_worker, p.class_key, p.priority,
         min(p.scheduled_at_ms) as at_ms, min(p.key) as key
       from placed p
       where p.state = 'available'
       group by p.queue, p.partition_key, p.sticky_worker, p.class_key, p.priority) e)
  into v_keys, v_lanes;
  perform :SCHEMA.open_lanes(v_lanes);
  return array(
    select cast(row(j.ord, v_keys[j.n], 'j' || lpad(to_hex(v_keys[j.n]), 16, '0'), 'inserted', null, false,
      null) as :SCHEMA.placed_job)
    from (select u.ord, row_number() over (order by u.ord) as n from unnest(jobs) u) j
    order by j.n);
end;
$$;
comment on function :SCHEMA.place_plain is
  'Inserts jobs that have neither an id nor a unique key of their own: nothing can collide.';
revoke all on function :SCHEMA.place_plain from public;
