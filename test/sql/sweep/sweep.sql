create function pg_temp.refusal(statement text) returns jsonb language plpgsql as $$
declare
  v_state text;
  v_detail text;
begin
  execute statement;
  return jsonb_build_object('code', 'none');
exception when others then
  get stacked diagnostics v_state = returned_sqlstate, v_detail = pg_exception_detail;
  return jsonb_build_object('code', v_state, 'message', sqlerrm)
    || case when v_state like 'HR%' then v_detail::jsonb else '{}' end;
end;
$$;
create function pg_temp.put(job jsonb default '{}', on_conflict text default 'error') returns text
language sql as $$
  select id from :SCHEMA.enqueue_many(json_build_array(jsonb_build_object('kind', 'task') || job), on_conflict);
$$;
create function pg_temp.state(id text) returns text language sql as $$
  select state from :SCHEMA.get_job(id);
$$;
-- The clock of the store moves on by so many milliseconds.
create function pg_temp.later(ms bigint) returns void language sql as $$
  insert into :SCHEMA.test_clock as c (offset_ms) values (ms)
  on conflict (only_row) do update set offset_ms = c.offset_ms + excluded.offset_ms;
$$;

-- A row that can't be updated or deleted while bad.ids names it, as a trigger of somebody else may cause.
create table pg_temp.bad (id text, code text);
create function public.fail_if_bad() returns trigger language plpgsql as $$
declare
  v_code text := (select b.code from pg_temp.bad b where b.id = old.id);
begin
  if v_code is not null then
    raise exception using errcode = v_code, message = 'planted';
  end if;
  return case when tg_op = 'DELETE' then old else new end;
end;
$$;
create trigger planted before update or delete on :SCHEMA.job for each row execute function public.fail_if_bad();

-- test: an expired lease is taken back: retryable twice, then quarantined (R-11)
do $test$
declare
  v_row record;
  v_job record;
  v_now bigint;
begin
  perform pg_temp.put('{"queue": "x", "id": "x", "max_attempts": 1, "payload": "poison"}');
  for v_crash in 1..3 loop
    perform :SCHEMA.promote_due();
    assert (select count(*) from :SCHEMA.admit('w', array['x'], 1, 50000)) = 1, v_crash;
    assert not exists (select from :SCHEMA.reclaim_expired()), 'not yet expired';
    perform pg_temp.later(60000);
    v_now := :SCHEMA.now_ms();
    select * into v_row from :SCHEMA.reclaim_expired();
    assert v_row.id = 'x' and v_row.crash_attempt = v_crash and v_row.quarantined = (v_crash = 3), to_jsonb(v_row);
    select * into v_job from :SCHEMA.get_job('x');
    assert v_job.attempt = 0 and v_job.crash_attempt = v_crash and v_job.lease_id is null and v_job.orphaned, to_jsonb(v_job);
    if v_crash < 3 then
      assert v_job.state = 'retryable'
        and v_job.scheduled_at_ms - v_now between 1000 * v_crash and 1000 * v_crash + 30000, to_jsonb(v_job);
    else
      assert v_job.state = 'quarantined' and v_job.finalized_at_ms is not null and v_job.evict_at_ms is null, to_jsonb(v_job);
    end if;
    perform pg_temp.later(60000);
  end loop;
  assert (select count(*) from :SCHEMA.list_attempts('x') where outcome = 'lease_lost' and worker = 'w') = 3;
  assert (select (kind, crash_count) = ('task', 3) from :SCHEMA.quarantine where fingerprint = :SCHEMA.fingerprint('task', '"poison"'));
  assert not exists (select from :SCHEMA.lease);
  -- Exempt from retention: it stays until an operator acts.
  perform pg_temp.later(10000 * 86400000::bigint);
  assert :SCHEMA.evict_retained() = 0 and pg_temp.state('x') = 'quarantined';
end;
$test$;

-- test: a heartbeat keeps no lease, a renewal does
do $test$
declare
  v_claim record;
begin
  perform pg_temp.put('{"queue": "h", "id": "h"}');
  select * into v_claim from :SCHEMA.admit('w', array['h'], 1, 1000);
  perform pg_temp.later(900);
  assert not exists (select from :SCHEMA.renew(json_build_array(json_build_object('job_id', 'h', 'lease_id', v_claim.lease_id,
    'fence', 1)), 100000));
  perform pg_temp.later(50000);
  assert not exists (select from :SCHEMA.reclaim_expired());
  perform pg_temp.later(60000);
  assert (select id from :SCHEMA.reclaim_expired()) = 'h';
end;
$test$;

-- test: what a dead worker left in the checkpoint is counted, whatever else stands there
do $test$
declare
  v_case record;
  v_claim record;
begin
  for v_case in
    select row_number() over () as n, * from (values
      ('{"in_progress": "s1"}', '{"s1": 1}'),
      ('{"in_progress": "s1", "crashes": {"s1": 1, "s2": 4}}', '{"s1": 2, "s2": 4}'),
      ('{"in_progress": "s1", "crashes": {"s1": "many"}}', '{"s1": 1}'),
      ('{"in_progress": "s1", "crashes": {"s1": 2147483647}}', '{"s1": 1}'),
      ('{"in_progress": "s1", "crashes": {"s1": {"deep": 1}}}', '{"s1": 1}'),
      ('{"in_progress": "s1", "crashes": null}', '{"s1": 1}'),
      ('{"in_progress": "s1", "crashes": [3]}', '{"s1": 1}'),
      ('{"in_progress": {"odd": 1}}', '{"{\"odd\": 1}": 1}'),
      ('{"in_progress": null, "crashes": "x"}', '"x"'),
      ('{"completed": ["s1"]}', null)
    ) c(checkpoint, crashes)
  loop
    perform pg_temp.put(jsonb_build_object('queue', 'c' || v_case.n, 'id', 'c' || v_case.n, 'payload', v_case.n));
    select * into v_claim from :SCHEMA.admit('w', array['c' || v_case.n], 1, 1000);
    perform :SCHEMA.checkpoint(v_claim.id, v_claim.lease_id, v_claim.fence, v_case.checkpoint::json);
    perform pg_temp.later(2000);
    assert (select id from :SCHEMA.reclaim_expired()) = v_claim.id, v_case.checkpoint;
    assert (select x.checkpoint -> 'crashes' from :SCHEMA.job_extra x where x.key = :SCHEMA.job_key(v_claim.id))
      is not distinct from v_case.crashes::jsonb, v_case.checkpoint;
  end loop;
end;
$test$;

-- test: a sweep moves as many as it may, the longest due first
do $test$
begin
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'b', 'id', 'b' || n, 'delay_ms', n,
    'retention_ms', n)) from generate_series(1, 5) n));
  perform pg_temp.later(1000);
  assert :SCHEMA.promote_due(2) = 2;
  assert pg_temp.state('b1') = 'available' and pg_temp.state('b2') = 'available' and pg_temp.state('b3') = 'scheduled';
  assert :SCHEMA.promote_due(2) = 2 and :SCHEMA.promote_due(2) = 1 and :SCHEMA.promote_due(2) = 0;
  assert (select count(*) from :SCHEMA.admit('w', array['b'], 5, 1000)) = 5;
  perform pg_temp.later(2000);
  assert (select count(*) from :SCHEMA.reclaim_expired(2)) = 2;
  assert (select count(*) from :SCHEMA.reclaim_expired(2)) = 2;
  assert (select count(*) from :SCHEMA.reclaim_expired(2)) = 1;
  perform :SCHEMA.operator_cancel('b' || n) from generate_series(1, 5) n;
  perform pg_temp.later(1000);
  assert :SCHEMA.evict_retained(3) = 3 and :SCHEMA.evict_retained(3) = 2 and :SCHEMA.evict_retained(3) = 0;
end;
$test$;

-- test: the number of rows of each sweep is bounded
do $test$
declare
  v_sweep text;
begin
  foreach v_sweep in array array['reclaim_expired', 'promote_due', 'evict_retained', 'janitor', 'roll_up_tallies'] loop
    assert pg_temp.refusal(format('select :SCHEMA.%s(0)', v_sweep)) ->> 'field' = 'max_rows', v_sweep;
    assert pg_temp.refusal(format('select :SCHEMA.%s(null)', v_sweep)) ->> 'field' = 'max_rows', v_sweep;
    assert pg_temp.refusal(format('select :SCHEMA.%s(100001)', v_sweep)) ->> 'field' = 'max_rows', v_sweep;
    assert pg_temp.refusal(format('select :SCHEMA.%s(100000)', v_sweep)) ->> 'code' = 'none', v_sweep;
    assert pg_temp.refusal(format('select :SCHEMA.%s(1)', v_sweep)) ->> 'code' = 'none', v_sweep;
  end loop;
end;
$test$;

-- test: one bad row holds up no other in any sweep, is named, and is forgotten when it moved (R-05)
do $test$
declare
  v_code text;
  v_keys text;
begin
  foreach v_code in array array['23505', '22003'] loop
    perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'bad' || n % 3, 'id', v_code || n,
      'delay_ms', 10, 'retention_ms', 1)) from generate_series(1, 50) n));
    select :SCHEMA.job_key(v_code || '7')::text into v_keys;
    perform pg_temp.later(1000);
    insert into pg_temp.bad values (v_code || '7', v_code);
    assert :SCHEMA.promote_due(1000) = 49, 'promote_due';
    assert (select (subject, error, times) = (v_keys, v_code || ' planted', 1) from :SCHEMA.sweep_error where sweep = 'promote_due');
    -- Within a minute it is left alone, so the next run costs no more than any other.
    assert :SCHEMA.promote_due(1000) = 0;
    assert (select times from :SCHEMA.sweep_error) = 1;
    perform pg_temp.later(61000);
    assert :SCHEMA.promote_due(1000) = 0;
    assert (select times from :SCHEMA.sweep_error) = 2;
    delete from pg_temp.bad;
    perform pg_temp.later(61000);
    assert :SCHEMA.promote_due(1000) = 0, 'each time it waits longer';
    perform pg_temp.later(61000);
    assert :SCHEMA.promote_due(1000) = 1;
    assert not exists (select from :SCHEMA.sweep_error), 'forgotten';

    assert (select count(*) from :SCHEMA.admit('w', array['bad0', 'bad1', 'bad2'], 100, 1000)) = 50;
    perform pg_temp.later(2000);
    insert into pg_temp.bad values (v_code || '7', v_code);
    assert (select count(*) from :SCHEMA.reclaim_expired(1000)) = 49, 'reclaim_expired';
    assert (select (sweep, subject) = ('reclaim_expired', v_keys) from :SCHEMA.sweep_error);
    assert not exists (select from :SCHEMA.reclaim_expired(1)), 'and does not stand in the way of a small batch';
    assert pg_temp.state(v_code || '7') = 'running';
    delete from pg_temp.bad;
    perform pg_temp.later(61000);
    assert (select count(*) from :SCHEMA.reclaim_expired(1000)) = 1;
    assert not exists (select from :SCHEMA.sweep_error);

    perform :SCHEMA.operator_cancel(v_code || n) from generate_series(1, 50) n;
    insert into pg_temp.bad values (v_code || '7', v_code);
    perform pg_temp.later(2);
    assert :SCHEMA.evict_retained(1000) = 49, 'evict_retained';
    assert (select (sweep, subject) = ('evict_retained', v_keys) from :SCHEMA.sweep_error);
    delete from pg_temp.bad;
    perform pg_temp.later(61000);
    assert :SCHEMA.evict_retained(1000) = 1;
    assert not exists (select from :SCHEMA.sweep_error);
  end loop;
end;
$test$;

-- test: the same goes for deadlines and quarantined content
do $test$
declare
  v_keys text;
begin
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'late', 'id', 'late' || n,
    'deadline_ms', :SCHEMA.now_ms() + 60000)) from generate_series(1, 50) n));
  select :SCHEMA.job_key('late7')::text into v_keys;
  insert into pg_temp.bad values ('late7', '23505');
  perform pg_temp.later(61000);
  assert :SCHEMA.expire_deadlines(1000) = 49;
  assert (select (sweep, subject, error) = ('expire_deadlines', v_keys, '23505 planted') from :SCHEMA.sweep_error);
  assert :SCHEMA.expire_deadlines(1) = 0;
  assert (select times from :SCHEMA.sweep_error) = 1, 'left alone for a minute';
  delete from pg_temp.bad;
  perform pg_temp.later(61000);
  assert :SCHEMA.expire_deadlines(1) = 1;
  assert not exists (select from :SCHEMA.sweep_error);

  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'q', 'queue', 'q', 'id', 'q' || n))
    from generate_series(1, 50) n));
  select :SCHEMA.job_key('q7')::text into v_keys;
  insert into :SCHEMA.quarantine (fingerprint, kind, crash_count, quarantined_at_ms, reason)
  select :SCHEMA.fingerprint('q', j.payload), 'q', 3, 0, 'planted' from :SCHEMA.job j where j.id = 'q7';
  insert into pg_temp.bad values ('q7', '22003');
  assert :SCHEMA.quarantine_sweep(1000) = 49;
  assert (select (sweep, subject, error) = ('quarantine_sweep', v_keys, '22003 planted') from :SCHEMA.sweep_error);
  assert :SCHEMA.quarantine_sweep(1000) = 0;
  assert (select times from :SCHEMA.sweep_error) = 1, 'left alone for a minute';
  perform pg_temp.later(61000);
  assert :SCHEMA.quarantine_sweep(1000) = 0;
  assert (select times from :SCHEMA.sweep_error) = 2, 'the walk is over, but it is tried again';
  delete from pg_temp.bad;
  perform pg_temp.later(121000);
  assert :SCHEMA.quarantine_sweep(1000) = 1 and pg_temp.state('q7') = 'quarantined';
  assert not exists (select from :SCHEMA.sweep_error);

  -- One that was released meanwhile is not taken back.
  perform :SCHEMA.quarantine_release((select fingerprint from :SCHEMA.quarantine));
  perform :SCHEMA.note_sweep_error('quarantine_sweep', v_keys, 'planted');
  perform pg_temp.later(61000);
  assert :SCHEMA.quarantine_sweep(1000) = 0 and pg_temp.state('q7') = 'available';
  assert not exists (select from :SCHEMA.sweep_error);
end;
$test$;

-- test: a call gives up after so many bad rows, and comes to the good ones in the next
do $test$
declare
  v_calls integer := 0;
  v_moved bigint := 0;
begin
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'm', 'id', 'm' || n, 'delay_ms', n))
    from generate_series(1, 200) n));
  insert into pg_temp.bad select 'm' || n, '22003' from generate_series(1, 120) n;
  perform pg_temp.later(1000);
  v_moved := :SCHEMA.promote_due(200);
  assert (select count(*) from :SCHEMA.sweep_error) = 50 and v_moved = 0;
  while v_moved < 80 loop
    v_calls := v_calls + 1;
    v_moved := v_moved + :SCHEMA.promote_due(200);
    assert v_calls < 5;
  end loop;
  assert v_moved = 80 and (select count(*) from :SCHEMA.sweep_error where times = 1) = 120;
end;
$test$;

-- test: a duty for which the batch is too large gets smaller ones, and larger ones after a minute
do $test$
declare
  v_duty record;
begin
  create function public.too_many() returns trigger language plpgsql as $f$
  begin
    if (select count(*) from gone) > 30 then
      raise exception 'planted' using errcode = 'query_canceled';
    end if;
    return null;
  end;
  $f$;
  create trigger too_many after delete on :SCHEMA.job referencing old table as gone for each statement
  execute function public.too_many();
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'r', 'id', 'r' || n,
    'retention_ms', 1)) from generate_series(1, 200) n));
  perform :SCHEMA.operator_cancel('r' || n) from generate_series(1, 200) n;
  perform pg_temp.later(1000);
  for v_batch in 0..1 loop
    select * into v_duty from :SCHEMA.run_duties('h', array['evict_retained'], 100);
    assert v_duty.error is not null and v_duty.did = 0;
    perform pg_temp.later(2001);
  end loop;
  for v_call in 1..4 loop
    select * into v_duty from :SCHEMA.run_duties('h', array['evict_retained'], 100);
    assert v_duty.error is null and v_duty.did = 25, to_jsonb(v_duty);
  end loop;
  perform pg_temp.later(61000);
  select * into v_duty from :SCHEMA.run_duties('h', array['evict_retained'], 100);
  assert v_duty.did = 25;
  select * into v_duty from :SCHEMA.run_duties('h', array['evict_retained'], 100);
  assert v_duty.error is not null, 'it tries more, once a minute';
  perform pg_temp.later(1001);
  select * into v_duty from :SCHEMA.run_duties('h', array['evict_retained'], 100);
  assert v_duty.did = 25 and (select (failures, shrink) = (0, 2) from :SCHEMA.duty where name = 'evict_retained');
end;
$test$;

-- test: what the janitor can't remove from one table does not keep the others growing
do $test$
begin
  create function public.keep() returns trigger language plpgsql as 'begin raise exception ''planted''; end';
  create trigger planted before delete on :SCHEMA.effect for each row execute function public.keep();
  perform :SCHEMA.claim_effect('e');
  perform :SCHEMA.heartbeat_worker('w1');
  perform pg_temp.later(31 * 86400000::bigint);
  assert :SCHEMA.janitor() = 1;
  assert exists (select from :SCHEMA.effect) and not exists (select from :SCHEMA.worker);
  assert (select (sweep, subject, error) = ('janitor', 'effect', 'P0001 planted') from :SCHEMA.sweep_error);
  drop trigger planted on :SCHEMA.effect;
  assert :SCHEMA.janitor() = 1;
  assert not exists (select from :SCHEMA.effect) and not exists (select from :SCHEMA.sweep_error);
end;
$test$;

-- test: history of jobs that are gone is found behind any amount of history of jobs that are kept
do $test$
declare
  v_calls integer := 0;
begin
  perform pg_temp.put('{"id": "kept"}');
  insert into :SCHEMA.attempt (job_key, job_id, kind, queue, attempt, started_at_ms, finished_at_ms)
  select :SCHEMA.job_key('kept'), 'kept', 'task', 'default', 1, 0, 1 from generate_series(1, 100);
  insert into :SCHEMA.attempt (job_key, job_id, kind, queue, attempt, started_at_ms, finished_at_ms)
  values (0, 'gone', 'task', 'default', 1, 0, 1), (0, 'gone', 'task', 'default', 1, 0, :SCHEMA.now_ms());
  while :SCHEMA.tidy_attempts(10) = 0 loop
    v_calls := v_calls + 1;
    assert v_calls < 5;
  end loop;
  assert v_calls > 0, 'no more than ten times five are looked at';
  assert (select count(*) from :SCHEMA.attempt) = 101 and (select count(*) from :SCHEMA.attempt where job_id = 'gone') = 1;
  assert :SCHEMA.tidy_attempts(10) = 0;
  assert (select rests_until_ms > :SCHEMA.now_ms() and position = 0 from :SCHEMA.walk);
  perform pg_temp.later(31 * 86400000::bigint);
  v_calls := 0;
  while :SCHEMA.tidy_attempts(10) = 0 loop
    v_calls := v_calls + 1;
    assert v_calls < 5;
  end loop;
  assert not exists (select from :SCHEMA.attempt where job_id = 'gone');
end;
$test$;

-- test: a quarantined job stays, whatever its row says
do $test$
begin
  perform pg_temp.put('{"id": "parked"}');
  insert into :SCHEMA.quarantine (fingerprint, kind, crash_count, quarantined_at_ms, reason)
  select :SCHEMA.fingerprint('task', j.payload), 'task', 3, 0, 'planted' from :SCHEMA.job j where j.id = 'parked';
  assert :SCHEMA.quarantine_sweep() = 1;
  update :SCHEMA.job set evict_at_ms = 1;
  assert :SCHEMA.evict_retained() = 0 and :SCHEMA.evict_jobs(array(select key from :SCHEMA.job)) = 0;
  assert pg_temp.state('parked') = 'quarantined' and not exists (select from :SCHEMA.sweep_error);
end;
$test$;

-- test: duties run each under its own lease, and one that fails stops no other
do $test$
declare
  v_duty record;
  v_refusal jsonb;
begin
  assert (select count(*) from :SCHEMA.run_duties('h1', lease_ms => 60000)) = cardinality(:SCHEMA.duty_names());
  assert not exists (select from :SCHEMA.run_duties('h2')), 'all are held by h1';
  assert (select count(*) from :SCHEMA.run_duties('h1', array['janitor', 'promote_due'], lease_ms => 60000)) = 2;
  perform pg_temp.later(60001);
  assert (select array_agg(duty) from :SCHEMA.run_duties('h2', array['janitor'])) = array['janitor'];
  assert not exists (select from :SCHEMA.run_duties('h1', array['janitor']));

  create function public.fail() returns trigger language plpgsql as 'begin raise exception ''planted''; end';
  create trigger planted before insert on :SCHEMA.queue_minute for each row execute function public.fail();
  perform pg_temp.put('{"queue": "counted"}');
  select * into v_duty from :SCHEMA.run_duties('h2', array['roll_up_tallies']);
  assert v_duty.error is not null and v_duty.did = 0, to_jsonb(v_duty);
  assert (select (failures, holder) = (1, 'h2') and last_error like 'P0001 %' from :SCHEMA.duty where name = 'roll_up_tallies');
  -- However long the others take.
  update :SCHEMA.duty set retry_at_ms = retry_at_ms + 30000 where name = 'roll_up_tallies';
  assert (select count(*) from :SCHEMA.run_duties('h2')) = cardinality(:SCHEMA.duty_names()) - 1, 'it waits, the others do not';
  perform pg_temp.later(31001);
  assert (select array_agg(duty) from :SCHEMA.run_duties('h2') where error is not null) = array['roll_up_tallies'];
  drop trigger planted on :SCHEMA.queue_minute;
  perform pg_temp.later(2001);
  assert (select count(*) from :SCHEMA.run_duties('h2') where error is not null) = 0;
  assert (select (failures, last_error is null, retry_at_ms) = (0, true, 0) from :SCHEMA.duty where name = 'roll_up_tallies');

  assert pg_temp.refusal($q$select from :SCHEMA.run_duties('h', array['sweep'])$q$) ->> 'field' = 'duties';
  assert pg_temp.refusal($q$select from :SCHEMA.run_duties('h', array[null])$q$) ->> 'field' = 'duties';
  assert pg_temp.refusal($q$select from :SCHEMA.run_duties(null)$q$) ->> 'field' = 'holder';
  assert pg_temp.refusal($q$select from :SCHEMA.run_duties('h', null, 0)$q$) ->> 'field' = 'max_rows';
  assert pg_temp.refusal($q$select from :SCHEMA.run_duties('h', null, 1, 0)$q$) ->> 'field' = 'lease_ms';
end;
$test$;

-- test: a duty has one holder until its lease ends or is given up
do $test$
begin
  assert :SCHEMA.claim_duty('d', 'a', 60000);
  assert :SCHEMA.claim_duty('d', 'a', 60000), 'renewed';
  assert not :SCHEMA.claim_duty('d', 'b', 60000);
  perform :SCHEMA.release_duty('d', 'b');
  assert not :SCHEMA.claim_duty('d', 'b', 1000), 'only its holder gives it up';
  perform :SCHEMA.release_duty('d', 'a');
  assert :SCHEMA.claim_duty('d', 'b', 60000);
  perform :SCHEMA.release_duty('d', 'a');
  assert not :SCHEMA.claim_duty('d', 'a', 60000), 'the old holder, back from the dead, does not evict the new one';
  perform pg_temp.later(60001);
  assert :SCHEMA.claim_duty('d', 'a', 60000);
  perform :SCHEMA.release_duty('unknown', 'a');
  assert pg_temp.refusal($q$select :SCHEMA.claim_duty('', 'a', 1)$q$) ->> 'field' = 'name';
  assert pg_temp.refusal($q$select :SCHEMA.claim_duty(repeat('d', 256), 'a', 1)$q$) ->> 'field' = 'name';
  assert pg_temp.refusal($q$select :SCHEMA.claim_duty('d', repeat('a', 256), 1)$q$) ->> 'field' = 'holder';
  assert pg_temp.refusal($q$select :SCHEMA.claim_duty('d', null, 1)$q$) ->> 'field' = 'holder';
  assert pg_temp.refusal($q$select :SCHEMA.claim_duty('d', 'a', 0)$q$) ->> 'field' = 'lease_ms';
  assert pg_temp.refusal($q$select :SCHEMA.release_duty('d', '')$q$) ->> 'field' = 'holder';
end;
$test$;

-- test: counts are folded without a change of what they say
do $test$
declare
  v_claim record;
begin
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'n')) from generate_series(1, 7)));
  for v_claim in select * from :SCHEMA.admit('w', array['n'], 3) loop
    perform :SCHEMA.ack(v_claim.id, v_claim.lease_id, v_claim.fence);
  end loop;
  assert :SCHEMA.queue_depth_of('n') = 4;
  assert :SCHEMA.roll_up_tallies(2) = 2;
  assert :SCHEMA.queue_depth_of('n') = 4;
  perform :SCHEMA.roll_up_tallies();
  assert :SCHEMA.queue_depth_of('n') = 4 and not exists (select from :SCHEMA.tally);
  assert (select (sum(arrived), sum(completed)) = (7, 3) from :SCHEMA.queue_minute where queue = 'n');
end;
$test$;

-- test: sleepers that are gone go by as many as a call may
do $test$
begin
  perform :SCHEMA.declare_sleep('w' || n, '{q}', 1000) from generate_series(1, 3) n;
  perform :SCHEMA.declare_sleep('here', '{q}', 3600000);
  perform pg_temp.later(62000);
  assert :SCHEMA.tidy('sleeper', 2) = 2;
  assert :SCHEMA.tidy('sleeper', 2) = 1;
  assert (select array_agg(worker) from :SCHEMA.sleeper) = '{here}';
end;
$test$;

-- test: what has outlived its horizon goes
do $test$
declare
  v_claim record;
begin
  perform pg_temp.put('{"queue": "j", "unique_key": "k", "unique_window_ms": 100000}');
  perform :SCHEMA.claim_effect('e');
  select * into v_claim from :SCHEMA.admit('w', array['j']);
  perform :SCHEMA.ack(v_claim.id, v_claim.lease_id, v_claim.fence, 'revoke', logs => '["x"]');
  perform pg_temp.put('{"queue": "j", "id": "gone"}');
  select * into v_claim from :SCHEMA.admit('w', array['j']);
  perform :SCHEMA.ack('gone', v_claim.lease_id, v_claim.fence, 'success', logs => '["x"]');
  perform :SCHEMA.heartbeat_worker('w1', 'i1', 'host', 1, array['j'], 1);
  perform :SCHEMA.roll_up_tallies();
  perform :SCHEMA.note_sweep_error('promote_due', '1', 'planted');
  assert (select count(*) from :SCHEMA.attempt) = 1;
  perform pg_temp.later(40000);
  assert :SCHEMA.janitor() = 0;
  for v_visit in 1..5 loop
    perform pg_temp.later(31 * 86400000::bigint);
    perform :SCHEMA.janitor();
  end loop;
  assert not exists (select from :SCHEMA.throttle) and not exists (select from :SCHEMA.effect)
    and not exists (select from :SCHEMA.attempt) and not exists (select from :SCHEMA.worker)
    and not exists (select from :SCHEMA.queue_minute) and not exists (select from :SCHEMA.sweep_error);
end;
$test$;
