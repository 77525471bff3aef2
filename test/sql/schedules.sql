-- Schedules: what upsert keeps, what a tick does, what its history tells. The clock stands where a test puts it.
create function pg_temp.ms(at text) returns bigint language sql
  return (extract(epoch from at::timestamptz) * 1000)::bigint;

create function pg_temp.set_clock(at text) returns void language sql as $$
  insert into :SCHEMA.test_clock (offset_ms)
  values (pg_temp.ms(at) - floor(extract(epoch from clock_timestamp()) * 1000)::bigint)
  on conflict (only_row) do update set offset_ms = excluded.offset_ms;
$$;

create function pg_temp.ticks(schedule text) returns text[] language sql as $$
  select coalesce(array_agg(to_char(to_timestamp(j.periodic_tick_ms / 1000.0) at time zone 'UTC', 'DD HH24:MI:SS') order by j.key), '{}')
  from :SCHEMA.job j where j.periodic_schedule_id = schedule;
$$;

create function pg_temp.next_run(schedule text) returns text language sql as $$
  select to_char(s.next_run_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') from :SCHEMA.schedules s where s.id = schedule;
$$;

create function pg_temp.events(schedule text) returns text[] language sql as $$
  select coalesce(array_agg(e.outcome || ' ' || e.reason || ' ' || e.ticks order by e.event_id), '{}')
  from :SCHEMA.list_schedule_events(schedule, null, 100) e;
$$;

create function pg_temp.refused(call text) returns text language plpgsql as $$
declare
  v_state text;
  v_detail text;
begin
  execute call;
  return null;
exception when others then
  get stacked diagnostics v_state = returned_sqlstate, v_detail = pg_exception_detail;
  return v_state || ' ' || coalesce(v_detail::json ->> 'field', v_detail::json ->> 'what', '');
end $$;

select pg_temp.set_clock('2026-12-01 06:59:30Z');

-- test: upsert computes the first tick from the store's clock and fires nothing
do $$
begin
  assert :SCHEMA.upsert_schedule('daily', '0 7 * * *', 'report') = pg_temp.ms('2026-12-01 07:00Z');
  assert pg_temp.next_run('daily') = '2026-12-01 07:00:00';
  assert pg_temp.ticks('daily') = '{}';
  assert :SCHEMA.tick_schedules() = 0;
  assert pg_temp.ticks('daily') = '{}' and pg_temp.events('daily') = '{}';
end $$;

-- test: upsert keeps the next tick while the spec stays, and takes a new one with a new spec, without a catch-up (R-71)
do $$
begin
  perform :SCHEMA.upsert_schedule('daily', '0 7 * * *', 'report');
  perform pg_temp.set_clock('2026-12-01 07:00:00.5Z');
  -- Due, not fired, and a deployment comes: the tick stays due.
  assert :SCHEMA.upsert_schedule('daily', '0 7 * * *', 'report', payload => '{"n": 2}') = pg_temp.ms('2026-12-01 07:00Z');
  assert pg_temp.ticks('daily') = '{}';
  assert :SCHEMA.tick_schedules() = 1;
  assert :SCHEMA.tick_schedules() = 0;
  assert pg_temp.ticks('daily') = array['01 07:00:00'];
  assert (select convert_from(j.payload, 'UTF8')::jsonb = '{"n": 2}' from :SCHEMA.job j);
  assert pg_temp.next_run('daily') = '2026-12-02 07:00:00';

  perform pg_temp.set_clock('2026-12-01 08:00Z');
  assert :SCHEMA.upsert_schedule('daily', '0 9 * * *', 'report') = pg_temp.ms('2026-12-01 09:00Z');
  assert :SCHEMA.tick_schedules() = 0;
  assert :SCHEMA.upsert_schedule('daily', '0 9 * * *', 'report', payload => '{"n": 3}') = pg_temp.ms('2026-12-01 09:00Z');
  perform pg_temp.set_clock('2026-12-01 09:00:01Z');
  assert :SCHEMA.tick_schedules() = 1;
  assert pg_temp.ticks('daily') = array['01 07:00:00', '01 09:00:00'];
end $$;

-- test: a tick that is due when the spec changes is dropped, and counted
do $$
begin
  perform :SCHEMA.upsert_schedule('daily', '0 7 * * *', 'report');
  perform pg_temp.set_clock('2026-12-01 07:00:10Z');
  perform :SCHEMA.upsert_schedule('daily', '0 9 * * *', 'report');
  assert :SCHEMA.tick_schedules() = 0;
  assert pg_temp.events('daily') = array['skipped spec_changed 1'], pg_temp.events('daily')::text;
  assert (select s.missed_ticks from :SCHEMA.schedules s) = 1;
end $$;

-- test: paused survives a deployment, and a paused schedule fires nothing
do $$
begin
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'report', paused => true);
  perform :SCHEMA.upsert_schedule('b', '* * * * *', 'report');
  perform :SCHEMA.set_schedule_paused('b', true);
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'report');
  perform :SCHEMA.upsert_schedule('b', '*/2 * * * *', 'report');
  assert (select bool_and(s.paused) from :SCHEMA.schedules s);
  perform pg_temp.set_clock('2026-12-01 07:30Z');
  assert :SCHEMA.tick_schedules() = 0;
  assert (select count(*) from :SCHEMA.due_schedules()) = 0;
  assert (select d.error is null from :SCHEMA.run_duties('h', array['tick_schedules']) d);
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'report', paused => false);
  perform :SCHEMA.set_schedule_paused('b', false);
  assert not exists (select from :SCHEMA.verify_invariants());
  assert :SCHEMA.tick_schedules() = 2;
  -- A pause is a gap like any other.
  assert pg_temp.ticks('a') = array['01 07:30:00'] and pg_temp.ticks('b') = array['01 07:30:00'];
  assert pg_temp.events('a') = array['skipped missed 30', 'enqueued accepted 1'], pg_temp.events('a')::text;
end $$;

-- test: the job has what the schedule says
do $$
declare
  v_job record;
begin
  perform :SCHEMA.upsert_schedule('full', '* * * * *', 'mail:send', payload_bytes => '\x00ff', queue => 'q', partition_key => 'p',
    rate_classes => array['b', 'a'], priority => -3, weight => 4, max_attempts => 5, timeout_ms => 1000, retention_ms => 2000,
    headers => '{"h": null}', tags => array['y', 'x'], sticky_worker => 'w', schema_version => 6);
  perform pg_temp.set_clock('2026-12-01 07:00:01Z');
  assert :SCHEMA.tick_schedules() = 1;
  select * into v_job from :SCHEMA.job;
  assert v_job.id = 'sched-full-' || pg_temp.ms('2026-12-01 07:00Z');
  assert v_job.periodic_schedule_id = 'full' and v_job.periodic_tick_ms = pg_temp.ms('2026-12-01 07:00Z');
  assert v_job.state = 'available' and v_job.scheduled_at_ms = v_job.enqueued_at_ms;
  assert row(v_job.kind, v_job.payload, v_job.queue, v_job.partition_key, v_job.rate_classes, v_job.priority, v_job.weight,
      v_job.max_attempts, v_job.timeout_ms, v_job.retention_ms, v_job.headers, v_job.tags, v_job.sticky_worker, v_job.schema_version)
    = row('mail:send', '\x00ff'::bytea, 'q', 'p', array['a', 'b'], -3, 4, 5, 1000::bigint, 2000::bigint, '{"h": null}'::jsonb,
      array['x', 'y'], 'w', 6), v_job::text;
  assert (select count(*) from :SCHEMA.admit('w', array['q'], 10, 30000)) = 1;
end $$;

-- test: a template is held to the limits of jobs, and what is refused leaves nothing
do $$
declare
  v_call text[];
begin
  foreach v_call slice 1 in array array[
    array['''''', 'k', 'spec => ''* * * * *''', 'HR007 id'],
    array['null', 'k', 'spec => ''* * * * *''', 'HR007 id'],
    array['repeat(''x'', 256)', 'k', 'spec => ''* * * * *''', 'HR007 id'],
    array['''a''', 'k', 'spec => ''61 * * * *''', 'HR007 spec'],
    array['''a''', 'k', 'spec => ''0 0 30 2 *''', 'HR007 spec'],
    array['''a''', 'k', 'spec => null', 'HR007 spec'],
    array['''a''', 'no kind', 'spec => ''* * * * *''', 'HR007 kind'],
    array['''a''', 'k', 'spec => ''* * * * *'', payload_bytes => convert_to(repeat(''x'', 1048577), ''UTF8'')', 'HR007 payload'],
    array['''a''', 'k', 'spec => ''* * * * *'', queue => repeat(''x'', 256)', 'HR007 queue'],
    array['''a''', 'k', 'spec => ''* * * * *'', partition_key => repeat(''x'', 256)', 'HR007 partition_key'],
    array['''a''', 'k', 'spec => ''* * * * *'', rate_classes => array[''a'',''b'',''c'',''d'',''e'']', 'HR007 rate_classes'],
    array['''a''', 'k', 'spec => ''* * * * *'', max_attempts => 0', 'HR007 max_attempts'],
    array['''a''', 'k', 'spec => ''* * * * *'', weight => 0', 'HR007 weight'],
    array['''a''', 'k', 'spec => ''* * * * *'', timeout_ms => -1', 'HR007 timeout_ms'],
    array['''a''', 'k', 'spec => ''* * * * *'', retention_ms => -1', 'HR007 retention_ms'],
    array['''a''', 'k', 'spec => ''* * * * *'', tags => array[''a'', ''a'']', 'HR007 tags'],
    array['''a''', 'k', 'spec => ''* * * * *'', headers => ''[]''', 'HR007 headers'],
    array['''a''', 'k', 'spec => ''* * * * *'', headers => ''{"headrace-schedule-id": "b"}''', 'HR007 headers'],
    array['''a''', 'k', 'spec => ''* * * * *'', on_missed => ''later''', 'HR007 on_missed'],
    array['''a''', 'k', 'spec => ''* * * * *'', on_missed => null', 'HR007 on_missed'],
    array['''a''', 'k', 'spec => ''* * * * *'', on_missed => ''backfill'', backfill_limit => 0', 'HR007 backfill_limit'],
    array['''a''', 'k', 'spec => ''* * * * *'', backfill_limit => 1001', 'HR007 backfill_limit'],
    array['''a''', 'k', 'spec => ''* * * * *'', grace_ms => 0', 'HR007 grace_ms']]
  loop
    assert pg_temp.refused('select :SCHEMA.upsert_schedule(id => ' || v_call[1] || ', kind => ''' || v_call[2] || ''', ' || v_call[3] || ')')
      = v_call[4], v_call::text;
  end loop;
  assert not exists (select from :SCHEMA.schedule);
  perform :SCHEMA.upsert_schedule(repeat('x', 255), '* * * * *', 'k', backfill_limit => 0);
end $$;

-- test: after three hours of outage skip, run_once and backfill do what they say (R-68)
do $$
begin
  perform :SCHEMA.upsert_schedule('skip', '* * * * *', 'k');
  perform :SCHEMA.upsert_schedule('once', '* * * * *', 'k', on_missed => 'run_once');
  perform :SCHEMA.upsert_schedule('fill', '* * * * *', 'k', on_missed => 'backfill', backfill_limit => 10);
  perform pg_temp.set_clock('2026-12-01 10:00:15Z');
  assert :SCHEMA.tick_schedules() = 12;
  assert pg_temp.ticks('skip') = array['01 10:00:00'], pg_temp.ticks('skip')::text;
  assert pg_temp.ticks('once') = array['01 10:00:00'], pg_temp.ticks('once')::text;
  assert pg_temp.ticks('fill') = array['01 09:51:00', '01 09:52:00', '01 09:53:00', '01 09:54:00', '01 09:55:00', '01 09:56:00',
    '01 09:57:00', '01 09:58:00', '01 09:59:00', '01 10:00:00'], pg_temp.ticks('fill')::text;
  assert (select bool_and(s.next_run_at = '2026-12-01 10:01Z') from :SCHEMA.schedules s);
  assert pg_temp.events('skip') = array['skipped missed 180', 'enqueued accepted 1'];
  assert (pg_temp.events('fill'))[1] = 'skipped missed 171' and cardinality(pg_temp.events('fill')) = 11;
  assert (select array_agg(s.missed_ticks order by s.id) from :SCHEMA.schedules s) = array[171, 180, 180]::bigint[];
end $$;

-- test: after a week's outage of a nightly schedule the three policies differ
do $$
begin
  perform :SCHEMA.upsert_schedule('skip', '0 3 * * *', 'k');
  perform :SCHEMA.upsert_schedule('once', '0 3 * * *', 'k', on_missed => 'run_once');
  perform :SCHEMA.upsert_schedule('fill', '0 3 * * *', 'k', on_missed => 'backfill', backfill_limit => 3);
  perform :SCHEMA.upsert_schedule('more', '0 3 * * *', 'k', on_missed => 'backfill', backfill_limit => 100);
  perform pg_temp.set_clock('2026-12-08 12:00Z');
  assert :SCHEMA.tick_schedules() = 11;
  assert pg_temp.ticks('skip') = '{}';
  assert pg_temp.events('skip') = array['skipped missed 7'];
  assert pg_temp.ticks('once') = array['08 03:00:00'];
  assert pg_temp.events('once') = array['skipped missed 6', 'enqueued accepted 1'];
  assert pg_temp.ticks('fill') = array['06 03:00:00', '07 03:00:00', '08 03:00:00'];
  assert cardinality(pg_temp.ticks('more')) = 7;
  assert cardinality(pg_temp.events('more')) = 7;
  assert (select bool_and(s.next_run_at = '2026-12-09 03:00Z') from :SCHEMA.schedules s);
  assert :SCHEMA.tick_schedules() = 0;
end $$;

-- test: ticks within the grace all fire, also where several come at once
do $$
declare
  v_policy text;
begin
  foreach v_policy in array array['skip', 'run_once', 'backfill'] loop
    perform :SCHEMA.upsert_schedule(v_policy, '*/10 * * * * *', 'k', on_missed => v_policy);
  end loop;
  perform pg_temp.set_clock('2026-12-01 07:00:25Z');
  assert :SCHEMA.tick_schedules() = 15;
  foreach v_policy in array array['skip', 'run_once', 'backfill'] loop
    assert pg_temp.ticks(v_policy) = array['01 06:59:40', '01 06:59:50', '01 07:00:00', '01 07:00:10', '01 07:00:20'],
      pg_temp.ticks(v_policy)::text;
    assert not exists (select from :SCHEMA.schedule_event e where e.outcome <> 'enqueued');
  end loop;
end $$;

-- test: the grace is exact: 60 s late is late
do $$
begin
  perform :SCHEMA.upsert_schedule('a', '0 7 * * *', 'k');
  perform :SCHEMA.upsert_schedule('b', '0 7 * * *', 'k', grace_ms => 120000);
  perform pg_temp.set_clock('2026-12-01 07:00:59Z');
  assert :SCHEMA.due_ticks(s, :SCHEMA.read_spec(s.spec), pg_temp.ms('2026-12-01 07:00:59.999Z'))
    = array[pg_temp.ms('2026-12-01 07:00Z')] from :SCHEMA.schedule s where s.id = 'a';
  assert :SCHEMA.due_ticks(s, :SCHEMA.read_spec(s.spec), pg_temp.ms('2026-12-01 07:01:00Z')) = '{}'
    from :SCHEMA.schedule s where s.id = 'a';
  perform pg_temp.set_clock('2026-12-01 07:01:30Z');
  assert :SCHEMA.tick_schedules() = 1;
  assert pg_temp.ticks('a') = '{}' and pg_temp.ticks('b') = array['01 07:00:00'];
end $$;

-- test: a dense schedule after a long outage is counted without walking it
do $$
begin
  perform :SCHEMA.upsert_schedule('sec', 'CRON_TZ=Europe/Berlin * * * * * *', 'k', on_missed => 'run_once');
  perform :SCHEMA.upsert_schedule('ms', '@every:10', 'k', on_missed => 'backfill', backfill_limit => 3);
  perform pg_temp.set_clock('2027-12-01 06:59:30Z');
  assert :SCHEMA.tick_schedules() = 4;
  -- 365 days, less the hour that the clocks show twice.
  assert (select s.missed_ticks between 365 * 86400 - 3600 - 5 and 365 * 86400 - 3600 + 5 from :SCHEMA.schedules s where s.id = 'sec'),
    (select s.missed_ticks from :SCHEMA.schedules s where s.id = 'sec')::text;
  assert (select s.missed_ticks between 365 * 8640000::bigint - 500 and 365 * 8640000::bigint + 500 from :SCHEMA.schedules s where s.id = 'ms');
end $$;

-- test: a tick can't fire twice, even when its job has finished and vanished
do $$
declare
  v_claim record;
begin
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k');
  perform pg_temp.set_clock('2026-12-01 07:00:01Z');
  assert :SCHEMA.tick_schedules() = 1;
  select * into v_claim from :SCHEMA.admit('w', array['default'], 1, 30000);
  perform :SCHEMA.ack(v_claim.id, v_claim.lease_id, v_claim.fence, 'success');
  assert not exists (select from :SCHEMA.job);
  assert :SCHEMA.tick_schedules() = 0 and not exists (select from :SCHEMA.job);
end $$;

-- test: a tick whose id is taken is told, and does not block the next
do $$
begin
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k');
  perform :SCHEMA.enqueue('other', id => 'sched-a-' || pg_temp.ms('2026-12-01 07:00Z'));
  perform :SCHEMA.enqueue('k', id => 'sched-a-' || pg_temp.ms('2026-12-01 07:01Z'));
  perform pg_temp.set_clock('2026-12-01 07:00:01Z');
  assert :SCHEMA.tick_schedules() = 0;
  perform pg_temp.set_clock('2026-12-01 07:01:01Z');
  assert :SCHEMA.tick_schedules() = 0;
  perform pg_temp.set_clock('2026-12-01 07:02:01Z');
  assert :SCHEMA.tick_schedules() = 1;
  assert pg_temp.events('a') = array['failed id_conflict 1', 'deduplicated replayed 1', 'enqueued accepted 1'];
  assert (select s.missed_ticks from :SCHEMA.schedules s) = 1;
end $$;

-- test: a full queue keeps the tick until there is room or its time is over, and does not flood the history
do $$
begin
  insert into :SCHEMA.queue (queue, max_unfinished_jobs) values ('q', 0);
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k', queue => 'q');
  perform pg_temp.set_clock('2026-12-01 07:00:01Z');
  for i in 1..20 loop
    update :SCHEMA.schedule set retry_at_ms = 0;
    assert :SCHEMA.tick_schedules() = 0;
  end loop;
  assert pg_temp.events('a') = array['failed backpressure 20'], pg_temp.events('a')::text;
  assert (select s.failures = 20 and s.last_error = 'backpressure' and s.missed_ticks = 0
    and s.retry_at > '2026-12-01 07:00:05Z' and s.retry_at < '2026-12-01 07:00:40Z' from :SCHEMA.schedules s);
  assert pg_temp.next_run('a') = '2026-12-01 07:00:00';
  -- Not before its time to try again.
  assert (select count(*) from :SCHEMA.due_schedules()) = 0;
  update :SCHEMA.queue set max_unfinished_jobs = 10;
  assert :SCHEMA.tick_schedules() = 0;
  perform pg_temp.set_clock('2026-12-01 07:00:40Z');
  assert :SCHEMA.tick_schedules() = 1;
  assert pg_temp.ticks('a') = array['01 07:00:00'];
  assert (select s.failures = 0 and s.last_error is null and s.retry_at is null from :SCHEMA.schedules s);

  update :SCHEMA.queue set max_unfinished_jobs = 0;
  perform pg_temp.set_clock('2026-12-01 07:01:01Z');
  assert :SCHEMA.tick_schedules() = 0;
  perform pg_temp.set_clock('2026-12-01 09:01:01Z');
  update :SCHEMA.queue set max_unfinished_jobs = 10;
  assert :SCHEMA.tick_schedules() = 1;
  assert pg_temp.ticks('a') = array['01 07:00:00', '01 09:01:00'];
  assert (select s.missed_ticks from :SCHEMA.schedules s) = 120;
end $$;

-- test: a backfill that meets a full queue goes on where it stopped
do $$
begin
  insert into :SCHEMA.queue (queue, max_unfinished_jobs) values ('q', 2);
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k', queue => 'q', on_missed => 'backfill', backfill_limit => 4);
  perform pg_temp.set_clock('2026-12-01 08:00:01Z');
  assert :SCHEMA.tick_schedules() = 2;
  assert pg_temp.ticks('a') = array['01 07:57:00', '01 07:58:00'];
  update :SCHEMA.queue set max_unfinished_jobs = 10;
  perform pg_temp.set_clock('2026-12-01 08:00:05Z');
  assert :SCHEMA.tick_schedules() = 2;
  assert pg_temp.ticks('a') = array['01 07:57:00', '01 07:58:00', '01 07:59:00', '01 08:00:00'];
  assert pg_temp.next_run('a') = '2026-12-01 08:01:00';
end $$;

-- test: quarantined content is skipped visibly until it is released
do $$
begin
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k');
  insert into :SCHEMA.quarantine (fingerprint, kind, crash_count, quarantined_at_ms, reason)
  values (:SCHEMA.fingerprint('k', '{}'), 'k', 3, 1, 'test');
  perform pg_temp.set_clock('2026-12-01 07:00:01Z');
  assert :SCHEMA.tick_schedules() = 0;
  assert pg_temp.events('a') = array['skipped quarantined 1'];
  assert (select s.missed_ticks = 1 and s.last_error = 'quarantined' and s.next_run_at = '2026-12-01 07:01Z' from :SCHEMA.schedules s);
  delete from :SCHEMA.quarantine;
  perform pg_temp.set_clock('2026-12-01 07:01:01Z');
  assert :SCHEMA.tick_schedules() = 1;
  assert (select s.last_error is null from :SCHEMA.schedules s);
end $$;

-- test: a spec that can't be read is told once a minute and tried again; a repair in place is enough
do $$
begin
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k');
  perform :SCHEMA.upsert_schedule('b', '* * * * *', 'k');
  update :SCHEMA.schedule set spec = 'some day' where id = 'a';
  perform pg_temp.set_clock('2026-12-01 07:00:01Z');
  assert :SCHEMA.tick_schedules() = 1 and pg_temp.ticks('b') = array['01 07:00:00'];
  for i in 1..30 loop
    perform pg_temp.set_clock((timestamptz '2026-12-01 07:00:01Z' + i * interval '1 second')::text);
    perform :SCHEMA.tick_schedules();
  end loop;
  assert cardinality(pg_temp.events('a')) = 1 and (pg_temp.events('a'))[1] like 'failed invalid_spec %', pg_temp.events('a')::text;
  assert (select s.last_error like 'invalid_spec: spec is neither%' from :SCHEMA.schedules s where s.id = 'a');
  update :SCHEMA.schedule set spec = '* * * * *' where id = 'a';
  perform pg_temp.set_clock('2026-12-01 07:02:10Z');
  assert :SCHEMA.tick_schedules() = 2;
  assert pg_temp.ticks('a') = array['01 07:02:00'];
  assert (select s.missed_ticks from :SCHEMA.schedules s where s.id = 'a') = 2;
end $$;

-- test: a template that enqueue refuses uses its ticks up, visibly
do $$
begin
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k');
  update :SCHEMA.schedule set payload = convert_to(repeat('x', 1048577), 'UTF8');
  perform pg_temp.set_clock('2026-12-01 07:00:01Z');
  assert :SCHEMA.tick_schedules() = 0;
  assert pg_temp.events('a') = array['failed invalid_request 1'];
  assert (select s.missed_ticks = 1 and s.last_error like 'invalid_request: payload is too long%' from :SCHEMA.schedules s);
  assert pg_temp.next_run('a') = '2026-12-01 07:01:00';
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k');
  perform pg_temp.set_clock('2026-12-01 07:01:01Z');
  assert :SCHEMA.tick_schedules() = 1;
end $$;

-- test: an unexpected error is told, and the tick is tried again
create function pg_temp.refuse() returns trigger language plpgsql as $$
begin
  raise exception 'no room' using errcode = '53100';
end $$;
create trigger refuse before insert on :SCHEMA.job for each row when (new.queue = 'bad') execute function pg_temp.refuse();
do $$
begin
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k', queue => 'bad');
  perform :SCHEMA.upsert_schedule('b', '* * * * *', 'k');
  perform pg_temp.set_clock('2026-12-01 07:00:01Z');
  assert :SCHEMA.tick_schedules() = 1;
  assert pg_temp.events('a') = array['failed store_error 1'];
  assert (select s.last_error = 'store_error: 53100 no room' and s.failures = 1 from :SCHEMA.schedules s where s.id = 'a');
  assert (select e.detail from :SCHEMA.list_schedule_events('a') e) = '53100 no room';
  update :SCHEMA.schedule set queue = 'good' where id = 'a';
  perform pg_temp.set_clock('2026-12-01 07:00:05Z');
  assert :SCHEMA.tick_schedules() = 1 and pg_temp.ticks('a') = array['01 07:00:00'];
end $$;

-- test: blocked schedules do not keep others out of a small batch
do $$
begin
  insert into :SCHEMA.queue (queue, max_unfinished_jobs) values ('q', 0);
  for i in 1..5 loop
    perform :SCHEMA.upsert_schedule('blocked' || i, '* * * * *', 'k', queue => 'q');
  end loop;
  perform :SCHEMA.upsert_schedule('free', '* * * * *', 'k');
  perform pg_temp.set_clock('2026-12-01 07:00:01Z');
  assert :SCHEMA.tick_schedules(2) + :SCHEMA.tick_schedules(2) + :SCHEMA.tick_schedules(2) = 1;
  assert pg_temp.ticks('free') = array['01 07:00:00'];
  -- Who is tried again stands behind those that have been due since before that.
  update :SCHEMA.schedule set retry_at_ms = pg_temp.ms('2026-12-01 07:01:05Z') where id <> 'free';
  perform pg_temp.set_clock('2026-12-01 07:01:10Z');
  assert :SCHEMA.tick_schedules(1) = 1 and cardinality(pg_temp.ticks('free')) = 2;
end $$;

-- test: advance_schedule is a compare-and-set and claims no enqueue
do $$
declare
  v_from bigint := pg_temp.ms('2026-12-01 07:00Z');
begin
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k');
  assert not :SCHEMA.advance_schedule('a', v_from - 1, v_from + 60000);
  assert pg_temp.next_run('a') = '2026-12-01 07:00:00';
  assert :SCHEMA.advance_schedule('a', v_from, v_from + 60000);
  assert not :SCHEMA.advance_schedule('a', v_from, v_from + 60000);
  assert not :SCHEMA.advance_schedule('nobody', v_from, v_from + 60000);
  assert pg_temp.next_run('a') = '2026-12-01 07:01:00';
  assert (select s.last_enqueued_at is null from :SCHEMA.schedules s);
  assert pg_temp.refused('select :SCHEMA.advance_schedule(''a'', 5, 5)') = 'HR007 to_ms';
  assert pg_temp.refused('select :SCHEMA.advance_schedule(''a'', null, 5)') = 'HR007 from_ms';
end $$;

-- test: due_schedules brings the store's clock and the template
do $$
declare
  v_due record;
begin
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k', payload => '{"a": 1}');
  perform :SCHEMA.upsert_schedule('later', '0 12 * * *', 'k');
  assert (select count(*) from :SCHEMA.due_schedules(10)) = 0;
  perform pg_temp.set_clock('2026-12-01 07:00:01Z');
  select * into strict v_due from :SCHEMA.due_schedules(10);
  assert v_due.id = 'a' and convert_from(v_due.payload, 'UTF8')::jsonb = '{"a": 1}' and v_due.next_run_ms = pg_temp.ms('2026-12-01 07:00Z');
  assert v_due.store_now_ms between pg_temp.ms('2026-12-01 07:00:01Z') and pg_temp.ms('2026-12-01 07:00:09Z');
  assert pg_temp.refused('select * from :SCHEMA.due_schedules(0)') = 'HR007 max_rows';
  assert pg_temp.refused('select :SCHEMA.tick_schedules(0)') = 'HR007 max_rows';
end $$;

-- test: lists show payloads only where asked
do $$
begin
  perform :SCHEMA.upsert_schedule('b', '* * * * *', 'k', headers => '{"x": 1}');
  perform :SCHEMA.upsert_schedule('a', '@hourly', 'k');
  assert (select array_agg(s.id) from :SCHEMA.list_schedules() s) = array['a', 'b'];
  assert (select bool_and(s.payload is null and s.headers is null) from :SCHEMA.list_schedules() s);
  assert (select count(s.payload) = 2 and count(s.headers) = 1 from :SCHEMA.list_schedules_with_payload() s);
end $$;

-- test: an event history keeps the newest 100 and outlives the schedule
do $$
declare
  v_first bigint;
begin
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k');
  v_first := :SCHEMA.record_schedule_event('a', 1, 'enqueued', 'job-1', 'accepted');
  for i in 2..130 loop
    perform :SCHEMA.record_schedule_event('a', i, 'failed', reason => 'mine');
  end loop;
  perform :SCHEMA.record_schedule_event('b', 7, 'skipped');
  assert (select count(*) from :SCHEMA.schedule_event e where e.schedule_id = 'a') = 100;
  assert (select array_agg(e.tick_ms) from :SCHEMA.list_schedule_events('a', null, 3) e) = array[130, 129, 128]::bigint[];
  assert (select array_agg(e.tick_ms) from :SCHEMA.list_schedule_events('a', v_first + 100, 2) e) = array[100, 99]::bigint[];
  assert (select e.job_id is null and e.reason = 'mine' and e.outcome = 'failed' from :SCHEMA.list_schedule_events('a', null, 1) e);
  perform :SCHEMA.delete_schedule('a');
  assert (select count(*) from :SCHEMA.list_schedule_events('a', null, 100)) = 100;
  assert pg_temp.refused('select :SCHEMA.delete_schedule(''a'')') = 'HR006 schedule';
  assert pg_temp.refused('select :SCHEMA.set_schedule_paused(''a'', true)') = 'HR006 schedule';
  assert pg_temp.refused('select :SCHEMA.list_schedule_events(''a'', null, 101)') = 'HR007 max_rows';
  assert pg_temp.refused('select :SCHEMA.list_schedule_events(''a'', null, 0)') = 'HR007 max_rows';
  assert pg_temp.refused('select :SCHEMA.record_schedule_event(''a'', 1, ''done'')') = 'HR007 outcome';
  assert pg_temp.refused('select :SCHEMA.record_schedule_event(''a'', 1, ''failed'', reason => repeat(''x'', 65))') = 'HR007 reason';
end $$;

-- test: the history of a deleted schedule is forgotten after 30 days, unless the schedule comes back
do $$
begin
  perform :SCHEMA.upsert_schedule('gone', '* * * * *', 'k');
  perform :SCHEMA.upsert_schedule('back', '* * * * *', 'k');
  perform :SCHEMA.record_schedule_event('gone', 1, 'enqueued'), :SCHEMA.record_schedule_event('back', 1, 'enqueued'),
    :SCHEMA.record_schedule_event('never', 1, 'enqueued');
  perform :SCHEMA.delete_schedule('gone'), :SCHEMA.delete_schedule('back');
  perform :SCHEMA.upsert_schedule('back', '* * * * *', 'k');
  perform pg_temp.set_clock('2026-12-31 06:00Z');
  perform :SCHEMA.janitor();
  assert (select count(*) from :SCHEMA.schedule_event) = 3;
  perform pg_temp.set_clock('2026-12-31 08:00Z');
  perform :SCHEMA.janitor();
  assert (select array_agg(e.schedule_id) from :SCHEMA.schedule_event e) = array['back'];
end $$;

-- test: run_schedule_now runs once a key, also when paused and when the first job has vanished
do $$
declare
  v_id text;
  v_claim record;
begin
  perform :SCHEMA.upsert_schedule('a', '0 12 * * *', 'k', payload => '{"a": 1}', paused => true);
  v_id := :SCHEMA.run_schedule_now('a', 'press-1');
  select * into strict v_claim from :SCHEMA.admit('w', array['default'], 5, 30000);
  assert v_claim.id = v_id and convert_from(v_claim.payload, 'UTF8')::jsonb = '{"a": 1}';
  perform :SCHEMA.ack(v_claim.id, v_claim.lease_id, v_claim.fence, 'success');
  assert :SCHEMA.run_schedule_now('a', 'press-1') = v_id and not exists (select from :SCHEMA.job);
  assert :SCHEMA.run_schedule_now('a', 'press-2') <> v_id;
  assert :SCHEMA.run_schedule_now('a') <> :SCHEMA.run_schedule_now('a');
  assert (select count(*) from :SCHEMA.job) = 3;
  assert pg_temp.next_run('a') = '2026-12-01 12:00:00';
  assert pg_temp.events('a') = array['enqueued manual 1', 'enqueued manual 1', 'enqueued manual 1', 'enqueued manual 1'];
  assert pg_temp.refused('select :SCHEMA.run_schedule_now(''b'')') = 'HR006 schedule';
  -- Keys of two schedules do not meet, however they are cut.
  perform :SCHEMA.upsert_schedule('a:b', '@daily', 'k');
  perform :SCHEMA.upsert_schedule('a', '@daily', 'k');
  assert :SCHEMA.run_schedule_now('a:b', 'c') <> :SCHEMA.run_schedule_now('a', 'b:c');
  insert into :SCHEMA.queue (queue, max_unfinished_jobs) values ('default', 0);
  assert pg_temp.refused('select :SCHEMA.run_schedule_now(''a'', ''x'')') = 'HR004 ';
end $$;

-- test: a long id has ticks too
do $$
begin
  perform :SCHEMA.upsert_schedule(repeat('é', 127), '* * * * *', 'k');
  perform :SCHEMA.upsert_schedule(repeat('é', 126), '* * * * *', 'k');
  perform pg_temp.set_clock('2026-12-01 07:00:01Z');
  assert :SCHEMA.tick_schedules() = 2;
end $$;

-- test: run_duties ticks
do $$
begin
  perform :SCHEMA.upsert_schedule('a', '* * * * *', 'k');
  perform pg_temp.set_clock('2026-12-01 07:00:01Z');
  assert (select d.did = 1 and d.error is null from :SCHEMA.run_duties('h', array['tick_schedules']) d);
  assert pg_temp.ticks('a') = array['01 07:00:00'];
end $$;

-- test: the night when clocks go back has one job (R-64)
do $$
begin
  perform pg_temp.set_clock('2026-10-31 16:00Z');
  perform :SCHEMA.upsert_schedule('ny', 'CRON_TZ=America/New_York 30 1 * * *', 'k', on_missed => 'run_once');
  for v_minute in 0..2880 by 7 loop
    perform pg_temp.set_clock((timestamptz '2026-10-31 16:00Z' + v_minute * interval '30 seconds')::text);
    perform :SCHEMA.tick_schedules();
  end loop;
  assert pg_temp.ticks('ny') = array['01 05:30:00'], pg_temp.ticks('ny')::text;
  assert pg_temp.next_run('ny') = '2026-11-02 06:30:00';
end $$;
