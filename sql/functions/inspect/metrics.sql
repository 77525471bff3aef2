create or replace function :SCHEMA.metrics()
returns table (name text, labels jsonb, value double precision)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_since bigint := v_now / 60000 * 60000 - 60000;
begin
  return query
    select 'headrace_' || v.name, jsonb_build_object('queue', s.queue) || v.more, v.value::double precision
    from (select * from :SCHEMA.queue_stats() q order by q.depth desc, q.queue limit 500) s
    cross join lateral (
      values
        ('queue_depth', '{}'::jsonb, s.depth::double precision),
        ('queue_limit', '{}', s.max_unfinished_jobs::double precision),
        ('queue_weight', '{}', s.weight::double precision),
        ('queue_paused', '{}', s.paused::integer::double precision),
        ('queue_arrival_per_second', '{}', s.arrival_per_s),
        ('queue_drain_per_second', '{}', s.drain_per_s),
        ('queue_time_to_drain_seconds', '{}', s.time_to_drain_ms / 1000.0),
        ('queue_oldest_available_seconds', '{}', s.oldest_available_ms / 1000.0),
        ('queue_quiet_oldest_seconds', '{}', s.quiet_oldest_ms / 1000.0),
        ('queue_memory_bytes', '{}', s.memory_bytes::double precision)
      union all
      select 'queue_jobs', jsonb_build_object('state', b.key), b.value::double precision
      from jsonb_each_text(s.by_state) b
    ) v(name, more, value)
    where v.value is not null;
  return query
    select 'headrace_refused_per_second', jsonb_build_object('queue', r.queue, 'reason', r.reason),
      (sum(r.n) / ((v_now - v_since) / 1000.0))::double precision
    from (
      select m.queue, e.key as reason, e.value::bigint as n
      from :SCHEMA.queue_minute m cross join lateral jsonb_each_text(m.refused) e
      where m.minute_ms >= v_since
      union all
      select t.queue, e.key, e.value::bigint
      from :SCHEMA.tally t cross join lateral jsonb_each_text(t.refused) e
      where t.at_ms >= v_since) r
    group by r.queue, r.reason
    order by r.queue, r.reason
    limit 2000;
  return query
    select 'headrace_' || w.name, jsonb_build_object('status', w.status), w.value::double precision
    from (
      select l.status, count(*)::double precision as workers,
        sum(l.concurrency)::double precision as capacity, sum(l.inflight)::double precision as inflight
      from :SCHEMA.list_workers(60000) l
      group by l.status) g
    cross join lateral (
      values ('workers', g.status, g.workers), ('worker_capacity', g.status, g.capacity),
        ('worker_inflight', g.status, g.inflight)) w(name, status, value);
  return query
    select 'headrace_' || v.name, jsonb_build_object('duty', d.name), v.value::double precision
    from (select * from :SCHEMA.duty o order by o.name limit 200) d
    cross join lateral (
      values ('duty_success_age_seconds', greatest(0, v_now - d.ran_at_ms) / 1000.0),
        ('duty_failures', d.failures::numeric)) v(name, value)
    where v.value is not null;
  return query
    select 'headrace_sweep_errors', jsonb_build_object('sweep', e.sweep), count(*)::double precision
    from (select o.sweep from :SCHEMA.sweep_error o limit 10000) e
    group by e.sweep;
  return query
    select 'headrace_operations_open', jsonb_build_object('action', o.action), count(*)::double precision
    from (select p.action from :SCHEMA.operation p where p.finished_at_ms is null limit 1000) o
    group by o.action;
  return query
    select 'headrace_schedules',
      jsonb_build_object('state', case when s.paused then 'paused' else 'active' end),
      count(*)::double precision
    from (select c.paused from :SCHEMA.schedule c limit 100000) s
    group by s.paused;
  return query
    select 'headrace_schedule_' || v.name, jsonb_build_object('schedule', s.id), v.value::double precision
    from (
      select o.id, o.failures, o.missed_ticks, greatest(0, v_now - o.next_run_ms) as lag_ms
      from (
        select c.id, c.failures, c.missed_ticks, c.next_run_ms from :SCHEMA.schedule c
        where not c.paused
        order by greatest(c.next_run_ms, c.retry_at_ms)
        limit 10000) o
      order by greatest(0, v_now - o.next_run_ms) desc, o.id collate "C"
      limit 500) s
    cross join lateral (
      values ('lag_seconds', s.lag_ms / 1000.0), ('failures', s.failures::numeric),
        ('missed_ticks_total', s.missed_ticks::numeric)) v(name, value);
  return query
    select 'headrace_concurrency_limit', jsonb_build_object('name', c.name, 'queue', c.queue),
      c.max_concurrent::double precision
    from :SCHEMA.concurrency_limit c
    order by c.name
    limit 1000;
  return query
    select 'headrace_rate_class_per_second', jsonb_build_object('name', c.name),
      (case when c.paused then 0 else c.limit_per_window * 1000.0 / c.window_ms end)::double precision
    from :SCHEMA.rate_class c
    order by c.name
    limit 1000;
  return query
    select 'headrace_' || v.name, '{}'::jsonb, v.value::double precision
    from (
      values
        ('notification_queue_usage', pg_notification_queue_usage()),
        ('leases', (select count(*) from (select from :SCHEMA.lease l limit 100000) l)),
        ('leases_expired',
          (select count(*) from (select from :SCHEMA.lease l where l.expires_at_ms < v_now limit 10000) l)),
        ('sleeping_workers', (select count(*) from :SCHEMA.sleeper s where s.until_ms > v_now)),
        ('quarantined_fingerprints', (select count(*) from (select from :SCHEMA.quarantine q limit 10000) q)),
        ('uncounted_rows', (select count(*) from (select from :SCHEMA.tally t limit 100000) t)),
        ('invalid_indexes', (select count(*) from :SCHEMA.index_health() h where not h.valid)),
        ('schema_version', :SCHEMA.schema_version())
    ) v(name, value);
end;
$$;
comment on function :SCHEMA.metrics is
  'What an exporter needs, in one bounded call: names with labels and values. Queues beyond the 500 deepest '
  'are left out, and schedules beyond the 500 that are most behind; counts stop at caps; per-second figures '
  'cover the last one to two minutes. Names that end in _total are counters, the others gauges.';
revoke all on function :SCHEMA.metrics from public;
