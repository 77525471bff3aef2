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
create function pg_temp.clash(job jsonb) returns jsonb language sql as $$
  select pg_temp.refusal(format('select pg_temp.put(%L::jsonb)', job));
$$;

-- test: a lifecycle key is held in every unfinished state and free afterwards (R-27)
do $test$
declare
  v_id text;
  v_other text;
  v_claim record;
  v_outcome text;
begin
  assert pg_temp.put('{"queue": "u", "unique_key": "k", "pending": true, "id": "p"}') = 'p';
  assert pg_temp.clash('{"unique_key": "k"}') - 'message' = '{"code": "HR001", "existing_id": "p", "replaced": false}';
  perform :SCHEMA.operator_cancel('p');
  v_id := pg_temp.put('{"queue": "u", "unique_key": "k", "delay_ms": 1}');
  assert pg_temp.clash('{"unique_key": "k"}') ->> 'existing_id' = v_id;
  perform pg_temp.later(2);
  perform :SCHEMA.promote_due();
  assert pg_temp.state(v_id) = 'available' and pg_temp.clash('{"unique_key": "k"}') ->> 'existing_id' = v_id;
  select * into v_claim from :SCHEMA.admit('w', array['u']);
  assert pg_temp.clash('{"unique_key": "k"}') ->> 'existing_id' = v_id;
  perform :SCHEMA.ack(v_id, v_claim.lease_id, v_claim.fence, 'retry');
  assert pg_temp.state(v_id) = 'retryable' and pg_temp.clash('{"unique_key": "k"}') ->> 'existing_id' = v_id;
  -- The door for people answers with the holder.
  assert :SCHEMA.enqueue('task', unique_key => 'k') = v_id;
  perform :SCHEMA.operator_cancel(v_id);
  foreach v_outcome in array array['success', 'skip', 'undecodable', 'revoke'] loop
    v_other := pg_temp.put('{"queue": "u", "unique_key": "k"}');
    select * into v_claim from :SCHEMA.admit('w', array['u']);
    assert v_claim.id = v_other;
    perform :SCHEMA.ack(v_other, v_claim.lease_id, v_claim.fence, v_outcome);
  end loop;
  assert pg_temp.put('{"queue": "u", "unique_key": "k"}') is not null;
end;
$test$;

-- test: a key survives two crashes and is free when the third quarantines (R-27)
do $test$
declare
  v_id text := pg_temp.put('{"queue": "c", "unique_key": "k", "payload": "poison"}');
begin
  for v_crash in 1..3 loop
    assert (select count(*) from :SCHEMA.admit('w', array['c'], 1, 1000)) = 1, v_crash;
    perform pg_temp.later(2000);
    assert (select count(*) from :SCHEMA.reclaim_expired()) = 1, v_crash;
    if v_crash < 3 then
      assert pg_temp.clash('{"unique_key": "k", "payload": "fine"}') ->> 'existing_id' = v_id, v_crash;
    end if;
    perform pg_temp.later(4000000);
  end loop;
  assert pg_temp.state(v_id) = 'quarantined';
  assert pg_temp.put('{"unique_key": "k", "payload": "fine"}') is not null;
end;
$test$;

-- test: keys are bytes (R-24)
do $test$
declare
  v_key bytea;
  v_job jsonb;
  v_ids text[];
begin
  foreach v_key in array array[decode('f48d6124', 'hex'), decode('00', 'hex'), '', decode(repeat('ff', 1024), 'hex')] loop
    v_job := jsonb_build_object('unique_key_base64', encode(v_key, 'base64'));
    v_ids := v_ids || pg_temp.put(v_job);
    assert pg_temp.clash(v_job) ->> 'existing_id' = v_ids[cardinality(v_ids)], v_key::text;
  end loop;
  assert pg_temp.clash(jsonb_build_object('unique_key_base64', encode(decode(repeat('ff', 1025), 'hex'), 'base64')))
    ->> 'field' = 'unique_key';
  -- An empty key is a key, no key is none.
  assert pg_temp.clash('{"unique_key": ""}') ->> 'existing_id' = v_ids[3];
  assert pg_temp.put() is not null and pg_temp.put() is not null;
  -- A text is its UTF-8.
  assert pg_temp.put('{"unique_key": "é"}') is not null;
  assert pg_temp.clash('{"unique_key_base64": "w6k="}') ->> 'code' = 'HR001';
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'task', 'unique_key_base64',
    encode(sha256(n::text::bytea), 'base64'))) from generate_series(1, 1000) n));
  assert pg_temp.clash(jsonb_build_object('unique_key_base64', encode(sha256('777'), 'base64'))) ->> 'code' = 'HR001';
end;
$test$;

-- test: a scope is a kind or all of them, and none runs into another (R-25)
do $test$
begin
  perform pg_temp.put('{"kind": "a", "unique_key": "bc"}');
  perform pg_temp.put('{"kind": "ab", "unique_key": "c"}');
  perform pg_temp.put('{"kind": "email", "unique_key": "1", "id": "email"}');
  perform pg_temp.put('{"kind": "sms", "unique_key": "1"}');
  perform pg_temp.put('{"kind": "email", "unique_key": "1", "unique_scope": "global", "id": "global"}');
  assert pg_temp.clash('{"kind": "sms", "unique_key": "1", "unique_scope": "global"}') ->> 'existing_id' = 'global';
  assert pg_temp.clash('{"kind": "email", "unique_key": "1", "unique_scope": "kind"}') ->> 'existing_id' = 'email';
  assert (select kind from :SCHEMA.get_job('global')) = 'email';
end;
$test$;

-- test: a key that a batch has twice is a duplicate of the job before it, and nothing is inserted (R-23)
do $test$
declare
  v_batch text := '[{"kind": "a", "unique_key": "k1"}, {"kind": "a", "unique_key": "k2"}, {"kind": "a", "unique_key": "k1"}]';
begin
  assert pg_temp.refusal(format('select from :SCHEMA.enqueue_many(%L)', v_batch))
    @> '{"code": "HR001", "existing_id": null, "replaced": false, "repeats_job": 1}';
  assert (select array_agg(disposition order by ord) = array['withheld', 'withheld', 'duplicate']
    and array_agg(id) = array[null, null, null]::text[] and (array_agg(detail order by ord))[3] = '{"repeats_job": 1}'
    from :SCHEMA.enqueue_many(v_batch::json, 'report'));
  assert not exists (select from :SCHEMA.job);
end;
$test$;

-- test: a window is kept after the job is gone and ends by itself
do $test$
declare
  v_id text := pg_temp.put('{"queue": "t", "unique_key": "k", "unique_window_ms": 60000}');
  v_claim record;
begin
  select * into v_claim from :SCHEMA.admit('w', array['t']);
  assert :SCHEMA.ack(v_id, v_claim.lease_id, v_claim.fence) = 'deleted';
  assert pg_temp.state(v_id) is null;
  perform pg_temp.later(50000);
  assert pg_temp.clash('{"unique_key": "k", "unique_window_ms": 60000}') ->> 'existing_id' = v_id;
  assert :SCHEMA.enqueue('task', unique_key => 'k', unique_window => '1 minute') = v_id;
  -- The refused ones did not prolong it.
  perform pg_temp.later(10001);
  assert pg_temp.put('{"queue": "t", "unique_key": "k", "unique_window_ms": 60000, "id": "next"}') = 'next';
  assert pg_temp.clash('{"unique_key": "k", "unique_window_ms": 60000}') ->> 'existing_id' = 'next';
  perform pg_temp.later(60001);
  perform :SCHEMA.janitor();
  assert not exists (select from :SCHEMA.throttle);
  -- The job may still be there: the window, not the job, held the key.
  assert pg_temp.put('{"queue": "t", "unique_key": "k", "unique_window_ms": 60000}') is not null;
end;
$test$;

-- test: replace changes what was asked for in a job that waits, and nothing else
do $test$
declare
  v_row record;
  v_job record;
begin
  perform pg_temp.put('{"id": "r", "unique_key": "k", "payload": 1, "priority": 1, "max_attempts": 5, "delay_ms": 60000, "tags": ["t"]}');
  select * into v_row from :SCHEMA.enqueue_many('[{"kind": "task", "unique_key": "k", "payload": 2, "priority": 9,
    "max_attempts": 9, "schema_version": 2, "unique_replace": ["payload"]}]');
  assert v_row.disposition = 'replaced' and v_row.existing_id = 'r' and v_row.replaced, to_jsonb(v_row);
  select * into v_job from :SCHEMA.get_job('r', true);
  assert convert_from(v_job.payload, 'UTF8') = '2' and v_job.schema_version = 2 and v_job.priority = 1
    and v_job.max_attempts = 5 and v_job.tags = array['t'] and v_job.state = 'scheduled', to_jsonb(v_job);
  assert v_job.fingerprint = :SCHEMA.fingerprint('task', '2');
  perform :SCHEMA.enqueue_many('[{"kind": "task", "unique_key": "k", "payload": 3, "priority": 9, "max_attempts": 9,
    "scheduled_at_ms": 4102444800000, "unique_replace": ["priority", "max_attempts", "scheduled_at"]}]');
  select * into v_job from :SCHEMA.get_job('r', true);
  assert convert_from(v_job.payload, 'UTF8') = '2' and v_job.priority = 9 and v_job.max_attempts = 9
    and v_job.scheduled_at_ms = 4102444800000, to_jsonb(v_job);
  assert (select count(*) from :SCHEMA.job) = 1;
  -- Asked for nothing, nothing is replaced.
  assert pg_temp.clash('{"unique_key": "k", "payload": 4, "unique_replace": []}') ->> 'replaced' = 'false';
end;
$test$;

-- test: a priority that is replaced moves the job to another place in line
do $test$
begin
  perform pg_temp.put('{"id": "low", "queue": "pr", "unique_key": "k", "priority": 1}');
  perform pg_temp.put('{"id": "high", "queue": "pr", "priority": 5}');
  perform pg_temp.put('{"queue": "pr", "unique_key": "k", "priority": 9, "unique_replace": ["priority"]}');
  assert (select id from :SCHEMA.admit('w', array['pr'], 1)) = 'low';
end;
$test$;

-- test: a running holder is not replaced, and the producer hears of it (R-26)
do $test$
declare
  v_refusal jsonb;
  v_claim record;
begin
  perform pg_temp.put('{"id": "r", "queue": "run", "unique_key": "k", "payload": 1}');
  select * into v_claim from :SCHEMA.admit('w', array['run']);
  v_refusal := pg_temp.clash('{"unique_key": "k", "payload": 2, "unique_replace": ["payload"]}');
  assert v_refusal - 'message' = '{"code": "HR001", "existing_id": "r", "replaced": false}', v_refusal;
  assert (select convert_from(payload, 'UTF8') from :SCHEMA.get_job('r', true)) = '1';
  perform :SCHEMA.ack('r', v_claim.lease_id, v_claim.fence);
  assert pg_temp.put('{"unique_key": "k", "payload": 2, "unique_replace": ["payload"]}') is not null;
end;
$test$;

-- test: debounce puts the last word off, a pending job stays pending
do $test$
declare
  v_job record;
  v_now bigint;
begin
  perform pg_temp.put('{"id": "d", "queue": "deb", "unique_key": "k", "payload": 1, "unique_debounce_ms": 10000}');
  assert pg_temp.state('d') = 'scheduled';
  perform pg_temp.later(9000);
  v_now := :SCHEMA.now_ms();
  perform pg_temp.put('{"unique_key": "k", "payload": 2, "unique_debounce_ms": 10000, "tags": ["x"]}');
  select * into v_job from :SCHEMA.get_job('d', true);
  assert v_job.state = 'scheduled' and v_job.scheduled_at_ms >= v_now + 10000 and convert_from(v_job.payload, 'UTF8') = '2'
    and v_job.tags = array['x'], to_jsonb(v_job);
  perform pg_temp.later(40000);
  perform :SCHEMA.promote_due();
  assert pg_temp.state('d') = 'available';
  perform pg_temp.put('{"unique_key": "k", "payload": 3, "unique_debounce_ms": 10000}');
  assert pg_temp.state('d') = 'scheduled';
  assert not exists (select from :SCHEMA.admit('w', array['deb']));
  perform pg_temp.put('{"id": "p", "unique_key": "p", "pending": true}');
  perform pg_temp.put('{"unique_key": "p", "payload": 3, "unique_debounce_ms": 10}');
  assert pg_temp.state('p') = 'pending';
  assert (select count(*) from :SCHEMA.job) = 2;
end;
$test$;
