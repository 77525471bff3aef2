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

-- test: a job is stored as given, with defaults for the rest
do $test$
declare
  v_job record;
  v_id text;
begin
  v_id := :SCHEMA.enqueue('a');
  select * into v_job from :SCHEMA.get_job(v_id, true);
  assert v_id ~ '^j[0-9a-f]{16}$', v_id;
  assert v_job.state = 'available' and v_job.queue = 'default' and v_job.partition_key = '' and v_job.priority = 0
    and v_job.weight = 1 and v_job.attempt = 0 and v_job.crash_attempt = 0 and v_job.max_attempts = 25
    and v_job.schema_version = 1 and v_job.fence = 0 and v_job.retention_ms is null and v_job.timeout_ms is null
    and v_job.deadline_ms is null and v_job.rate_classes is null and v_job.tags is null and v_job.headers is null,
    to_jsonb(v_job);
  assert convert_from(v_job.payload, 'UTF8') = '{}';
  assert v_job.scheduled_at_ms = v_job.enqueued_at_ms;

  v_id := :SCHEMA.enqueue('b', '{"x": 1}', queue => 'q', partition_key => 'p', rate_classes => array['z', 'a'], priority => -5,
    weight => 3, max_attempts => 2, tags => array['t2', 'T1', 't1'], headers => '{"h": [1, null]}', retention => '1 minute',
    timeout => '2 s', deadline => '2100-01-01Z', id => 'mine', sticky_worker => 'w', schema_version => 7);
  select * into v_job from :SCHEMA.get_job('mine', true);
  assert v_id = 'mine' and v_job.queue = 'q' and v_job.partition_key = 'p' and v_job.rate_classes = array['a', 'z']
    and v_job.priority = -5 and v_job.weight = 3 and v_job.max_attempts = 2 and v_job.tags = array['T1', 't1', 't2']
    and v_job.headers = '{"h": [1, null]}' and v_job.retention_ms = 60000 and v_job.timeout_ms = 2000
    and v_job.deadline_ms = 4102444800000 and v_job.sticky_worker = 'w' and v_job.schema_version = 7, to_jsonb(v_job);
end;
$test$;

-- test: payload bytes are kept exactly (R-50)
do $test$
declare
  v_text text := '{"id":1970670598291982290,"x":1e400,  "a":1,"a":2}';
  v_bytes bytea := decode('00ff5c5c30780a', 'hex');
  v_id text;
  v_claim record;
begin
  select id into v_id from :SCHEMA.enqueue_many(('[{"kind": "a", "queue": "exact", "payload": ' || v_text || '}]')::json);
  assert (select convert_from(payload, 'UTF8') from :SCHEMA.get_job(v_id, true)) = v_text;
  select * into v_claim from :SCHEMA.admit('w', array['exact']);
  assert convert_from(v_claim.payload, 'UTF8') = v_text;
  select id into v_id from :SCHEMA.enqueue_many(json_build_array(json_build_object('kind', 'a', 'queue', 'exact',
    'payload_base64', encode(v_bytes, 'base64'))));
  select * into v_claim from :SCHEMA.admit('w', array['exact']);
  assert v_claim.payload = v_bytes;
  v_id := pg_temp.put('{"payload": null}');
  assert (select convert_from(payload, 'UTF8') from :SCHEMA.get_job(v_id, true)) = 'null';
  v_id := pg_temp.put();
  assert (select convert_from(payload, 'UTF8') from :SCHEMA.get_job(v_id, true)) = '{}';
  v_id := pg_temp.put('{"payload_base64": ""}');
  assert (select payload_bytes from :SCHEMA.get_job(v_id)) = 0;
end;
$test$;

-- test: the vectors of the fingerprint
do $test$
declare
  v_case record;
  v_id text;
begin
  for v_case in
    select * from (values
      ('email:welcome', '\x', 'bed0eecb39af02d79d5cdc8026a9b817'),
      ('', '\x', 'af5570f5a1810b7af78caf4bc70a660f'),
      ('a', '\x6263', '47ea6f805c5b663e33012cd34184e139'),
      ('ab', '\x63', '60014a36d7b05b0730e42a8b96faa1ff'),
      ('charge', '\x000102', '295e280cea51e7f3978bc3195d8fd4ae'),
      ('résumé:parse', '\x7b7d', 'a9b8c5d03aa1a0710129091fa3dc0a1d')
    ) c(kind, payload, expected)
  loop
    assert :SCHEMA.fingerprint(v_case.kind, v_case.payload::bytea) = v_case.expected, v_case.kind;
  end loop;
  v_id := pg_temp.put('{"kind": "charge", "payload_base64": "AAEC"}');
  assert (select fingerprint from :SCHEMA.get_job(v_id)) = '295e280cea51e7f3978bc3195d8fd4ae';
  v_id := pg_temp.put('{"fingerprint": "own"}');
  assert (select fingerprint from :SCHEMA.get_job(v_id)) = 'own';
end;
$test$;

-- test: ids are 64 bits wide
do $test$
declare
  v_id text;
  v_claim record;
begin
  alter table :SCHEMA.job alter column key restart with 9007199254740993;
  v_id := pg_temp.put('{"queue": "wide"}');
  assert v_id = 'j0020000000000001', v_id;
  assert pg_temp.state(v_id) = 'available';
  select * into v_claim from :SCHEMA.admit('w', array['wide']);
  assert v_claim.id = v_id;
  assert :SCHEMA.ack(v_id, v_claim.lease_id, v_claim.fence) = 'deleted';
  assert not exists (
    select from information_schema.columns
    where table_schema = :SCHEMA_LITERAL and is_identity = 'YES' and data_type <> 'bigint');
end;
$test$;

-- test: the same again is a success that writes nothing (R-42)
do $test$
declare
  v_row record;
begin
  perform pg_temp.put('{"id": "one", "payload": {"a": 1}, "queue": "q"}');
  select * into v_row from :SCHEMA.enqueue_many('[{"kind": "task", "id": "one", "payload": {"a": 1}, "queue": "q", "priority": 9}]');
  assert v_row.disposition = 'replayed' and v_row.id = 'one' and v_row.existing_id = 'one' and not v_row.replaced, to_jsonb(v_row);
  assert (select count(*) from :SCHEMA.job) = 1 and (select priority from :SCHEMA.get_job('one')) = 0;
  assert (select sum(arrived) from :SCHEMA.tally) = 1;
  assert :SCHEMA.enqueue('task', '{"a": 2}', id => 'two') = 'two';
  assert :SCHEMA.enqueue('task', '{"a": 2}', id => 'two') = 'two';
end;
$test$;

-- test: an id with other content is a conflict, also of a finished job
do $test$
declare
  v_refusal jsonb;
  v_other text;
  v_claim record;
begin
  perform pg_temp.put('{"id": "one", "payload": 1, "queue": "q", "retention_ms": 60000}');
  foreach v_other in array array['{"payload": 2, "queue": "q"}', '{"payload": 1, "queue": "other"}',
    '{"payload": 1, "queue": "q", "kind": "other"}'] loop
    v_refusal := pg_temp.refusal(format('select pg_temp.put(%L)', '{"id": "one"}'::jsonb || v_other::jsonb));
    assert v_refusal ->> 'code' = 'HR002' and v_refusal ->> 'job_id' = 'one', v_other || ': ' || v_refusal;
  end loop;
  v_refusal := pg_temp.refusal($q$select :SCHEMA.enqueue('task', '3', queue => 'q', id => 'one')$q$);
  assert v_refusal ->> 'code' = 'HR002', v_refusal;
  select * into v_claim from :SCHEMA.admit('w', array['q']);
  assert :SCHEMA.ack('one', v_claim.lease_id, v_claim.fence) = 'completed';
  assert pg_temp.refusal($q$select pg_temp.put('{"id": "one", "payload": 2, "queue": "q"}')$q$) ->> 'code' = 'HR002';
  assert (select disposition from :SCHEMA.enqueue_many('[{"kind": "task", "id": "one", "payload": 1, "queue": "q"}]')) = 'replayed';
  -- An id belongs to its job until that is evicted.
  perform pg_temp.later(60001);
  assert :SCHEMA.evict_retained() = 1;
  assert pg_temp.put('{"id": "one", "payload": 2, "queue": "q"}') = 'one';
end;
$test$;

-- test: a batch is all or nothing
do $test$
declare
  v_refusal jsonb;
begin
  perform pg_temp.put('{"id": "taken", "payload": 1}');
  v_refusal := pg_temp.refusal($q$select from :SCHEMA.enqueue_many(
    '[{"kind": "task", "id": "new"}, {"kind": "task"}, {"kind": "task", "id": "taken", "payload": 2}]')$q$);
  assert v_refusal ->> 'code' = 'HR002', v_refusal;
  assert (select count(*) from :SCHEMA.job) = 1;
  assert (select sum(depth) from :SCHEMA.tally) = 1;
end;
$test$;

-- test: report mode raises nothing, writes nothing, and says why
do $test$
declare
  v_rows jsonb;
begin
  perform pg_temp.put('{"id": "taken", "payload": 1, "unique_key": "k"}');
  select jsonb_agg(to_jsonb(e) order by ord) into v_rows from :SCHEMA.enqueue_many('[
    {"kind": "task", "id": "fresh"},
    {"kind": "task", "id": "taken", "payload": 2},
    {"kind": "task", "id": "taken2", "payload": 1, "unique_key": "k"},
    {"kind": "task", "unique_key": "l"},
    {"kind": "task", "unique_key": "l"}]', 'report') e;
  assert v_rows -> 0 ->> 'disposition' = 'withheld' and v_rows -> 0 ->> 'id' is null, v_rows;
  assert v_rows -> 1 ->> 'disposition' = 'id_conflict' and v_rows -> 1 -> 'detail' ->> 'job_id' = 'taken', v_rows;
  assert v_rows -> 2 ->> 'disposition' = 'duplicate' and v_rows -> 2 ->> 'existing_id' = 'taken', v_rows;
  assert v_rows -> 3 ->> 'disposition' = 'withheld', v_rows;
  assert v_rows -> 4 ->> 'disposition' = 'duplicate' and v_rows -> 4 -> 'detail' ->> 'repeats_job' = '4', v_rows;
  assert (select count(*) from :SCHEMA.job) = 1;
  assert (select sum(depth) from :SCHEMA.tally) = 1 and (select count(*) from :SCHEMA.lane) = 1;
  -- Wrong input is an error in either mode.
  assert pg_temp.refusal($q$select from :SCHEMA.enqueue_many('[{"kind": ""}]', 'report')$q$) ->> 'code' = 'HR007';
  -- And a batch with nothing wrong is written.
  select jsonb_agg(to_jsonb(e) order by ord) into v_rows from :SCHEMA.enqueue_many(
    '[{"kind": "task", "id": "fresh"}, {"kind": "task", "id": "taken", "payload": 1, "unique_key": "k"}]', 'report') e;
  assert v_rows -> 0 ->> 'disposition' = 'inserted' and v_rows -> 1 ->> 'disposition' = 'replayed', v_rows;
  assert (select count(*) from :SCHEMA.job) = 2;
end;
$test$;

-- test: quarantined content is refused, other content is not
do $test$
declare
  v_refusal jsonb;
  v_row record;
  v_id text;
begin
  insert into :SCHEMA.quarantine (fingerprint, kind, crash_count, quarantined_at_ms, reason)
  values (:SCHEMA.fingerprint('task', '1'), 'task', 3, 0, 'test');
  v_refusal := pg_temp.refusal($q$select pg_temp.put('{"payload": 1}')$q$);
  assert v_refusal ->> 'code' = 'HR003' and v_refusal ->> 'fingerprint' = :SCHEMA.fingerprint('task', '1'), v_refusal;
  select * into v_row from :SCHEMA.enqueue_many('[{"kind": "task", "payload": 1}]', 'report');
  assert v_row.disposition = 'quarantined' and v_row.id is null
    and v_row.detail ->> 'fingerprint' = :SCHEMA.fingerprint('task', '1'), to_jsonb(v_row);
  assert pg_temp.refusal($q$select :SCHEMA.enqueue('task', '1')$q$) ->> 'code' = 'HR003';
  v_id := pg_temp.put('{"payload": 2}');
  assert pg_temp.state(v_id) = 'available';
  v_id := pg_temp.put('{"payload": 1, "fingerprint": "another"}');
  assert pg_temp.state(v_id) = 'available';
  assert (select count(*) from :SCHEMA.job) = 2;
end;
$test$;

-- test: a queue at its limit refuses, and says how full it is
do $test$
declare
  v_refusal jsonb;
  v_row record;
  v_claim record;
begin
  insert into :SCHEMA.queue (queue, max_unfinished_jobs) values ('full', 3);
  perform pg_temp.put('{"queue": "full"}');
  perform pg_temp.put('{"queue": "full"}');
  v_refusal := pg_temp.refusal($q$select from :SCHEMA.enqueue_many('[{"kind": "a", "queue": "full"}, {"kind": "a", "queue": "full"},
    {"kind": "a", "queue": "free"}]')$q$);
  assert v_refusal - '{message}'::text[] = '{"code": "HR004", "queue": "full", "limit": 3, "current": 2, "incoming": 2}', v_refusal;
  assert (select count(*) from :SCHEMA.job) = 2;
  select * into v_row from :SCHEMA.enqueue_many('[{"kind": "a", "queue": "full"}, {"kind": "a", "queue": "full"}]', 'report') limit 1;
  assert v_row.disposition = 'backpressure' and v_row.detail ->> 'limit' = '3', to_jsonb(v_row);
  perform pg_temp.put('{"queue": "full", "id": "third"}');
  assert pg_temp.refusal($q$select pg_temp.put('{"queue": "full"}')$q$) ->> 'code' = 'HR004';
  assert pg_temp.refusal($q$select :SCHEMA.enqueue('a', queue => 'full')$q$) ->> 'code' = 'HR004';
  -- What adds nothing is let through.
  assert (select disposition from :SCHEMA.enqueue_many('[{"kind": "task", "queue": "full", "id": "third"}]')) = 'replayed';
  -- A running job counts until it has ended.
  select * into v_claim from :SCHEMA.admit('w', array['full'], 1);
  assert pg_temp.refusal($q$select pg_temp.put('{"queue": "full"}')$q$) ->> 'code' = 'HR004';
  perform :SCHEMA.ack(v_claim.id, v_claim.lease_id, v_claim.fence);
  perform pg_temp.put('{"queue": "full"}');
  perform :SCHEMA.roll_up_tallies();
  assert pg_temp.refusal($q$select pg_temp.put('{"queue": "full"}')$q$) ->> 'current' = '3';
end;
$test$;

-- test: pending waits for nobody's clock, a delay is counted from the call, a past start is due
do $test$
declare
  v_now bigint := :SCHEMA.now_ms();
  v_job record;
  v_id text;
begin
  v_id := pg_temp.put('{"id": "p", "pending": true}');
  assert pg_temp.state(v_id) = 'pending';
  v_id := pg_temp.put('{"delay_ms": 10000}');
  select * into v_job from :SCHEMA.get_job(v_id);
  assert v_job.state = 'scheduled' and v_job.scheduled_at_ms between v_now + 10000 and v_now + 40000;
  v_id := :SCHEMA.enqueue('a', delay => '10 s');
  select * into v_job from :SCHEMA.get_job(v_id);
  assert v_job.state = 'scheduled' and v_job.scheduled_at_ms between v_now + 10000 and v_now + 40000;
  v_id := :SCHEMA.enqueue('a', scheduled_at => '2100-01-01 00:00:00.0019Z');
  select * into v_job from :SCHEMA.get_job(v_id);
  assert v_job.state = 'scheduled' and v_job.scheduled_at_ms = 4102444800001, v_job.scheduled_at_ms;
  v_id := pg_temp.put('{"scheduled_at_ms": 5}');
  select * into v_job from :SCHEMA.get_job(v_id);
  assert v_job.state = 'available' and v_job.scheduled_at_ms = 5;
  assert :SCHEMA.promote_due() = 0;
  perform pg_temp.later(40001);
  assert :SCHEMA.promote_due() = 2;
  assert pg_temp.state('p') = 'pending';
end;
$test$;

-- test: a refusal names field and bound whatever stands in the value
do $test$
declare
  v_refusal jsonb;
begin
  v_refusal := pg_temp.refusal($q$select :SCHEMA.enqueue_many('[{"kind": "a|b|c"}]')$q$);
  assert v_refusal ->> 'field' = 'kind' and v_refusal ->> 'bound' like '1..128 of%', v_refusal;
  v_refusal := pg_temp.refusal($q$select :SCHEMA.enqueue_many('[{"kind": "a", "x|y|z": 1}]')$q$);
  assert v_refusal ->> 'field' = 'x/y/z' and v_refusal ->> 'bound' like 'the fields are%', v_refusal;
  v_refusal := pg_temp.refusal($q$select :SCHEMA.ack('j', 'l', 1, 'a|b|c')$q$);
  assert v_refusal ->> 'field' = 'outcome' and v_refusal ->> 'bound' like 'success,%', v_refusal;
end;
$test$;
