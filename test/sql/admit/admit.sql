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

-- test: a claim is a job, a lease and a fence in one
do $test$
declare
  v_id text := pg_temp.put('{"queue": "q", "payload": {"a": 1}, "headers": {"h": 1}, "timeout_ms": 5000, "weight": 2, "partition_key": "p"}');
  v_claim record;
  v_job record;
  v_now bigint := :SCHEMA.now_ms();
begin
  select * into v_claim from :SCHEMA.admit('w1', array['q'], 1, 20000, lease_id => 'mine');
  assert v_claim.id = v_id and v_claim.kind = 'task' and v_claim.queue = 'q' and v_claim.partition_key = 'p'
    and v_claim.attempt = 0 and v_claim.crash_attempt = 0 and v_claim.max_attempts = 25 and v_claim.schema_version = 1
    and v_claim.headers = '{"h": 1}' and v_claim.lease_id = 'mine' and v_claim.fence = 1 and v_claim.weight = 2
    and v_claim.timeout_ms = 5000 and v_claim.checkpoint is null and v_claim.cursor is null, to_jsonb(v_claim);
  assert v_claim.expires_at_ms between v_now + 20000 and v_now + 50000;
  select * into v_job from :SCHEMA.get_job(v_id);
  assert v_job.state = 'running' and v_job.lease_id = 'mine' and v_job.fence = 1 and v_job.claimed_by = 'w1'
    and v_job.lease_expires_at_ms = v_claim.expires_at_ms and v_job.claimed_at_ms >= v_now, to_jsonb(v_job);
  assert not exists (select from :SCHEMA.admit('w2', array['q']));
end;
$test$;

-- test: the fence rises with each claim
do $test$
declare
  v_claim record;
begin
  perform pg_temp.put('{"queue": "q", "id": "f"}');
  for v_round in 1..4 loop
    select * into v_claim from :SCHEMA.admit('w', array['q']);
    assert v_claim.fence = v_round and v_claim.attempt = 0, to_jsonb(v_claim);
    perform :SCHEMA.release('f', v_claim.lease_id, v_claim.fence);
  end loop;
end;
$test$;

-- test: priority, then due time, then age
do $test$
begin
  perform pg_temp.put('{"queue": "o", "id": "young"}');
  perform pg_temp.put('{"queue": "o", "id": "late", "scheduled_at_ms": 2000}');
  perform pg_temp.put('{"queue": "o", "id": "early", "scheduled_at_ms": 1000}');
  perform pg_temp.put('{"queue": "o", "id": "first", "priority": 2147483647}');
  perform pg_temp.put('{"queue": "o", "id": "last", "priority": -2147483648, "scheduled_at_ms": 1}');
  assert array(select id from :SCHEMA.admit('w', array['o'])) = array['first', 'early', 'late', 'young', 'last'],
    array(select id from :SCHEMA.get_job('first'));
end;
$test$;

-- test: capacity bounds a claim, and nothing is claimed twice
do $test$
declare
  v_ids text[] := '{}';
  v_got text[];
begin
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'c')) from generate_series(1, 25)));
  loop
    v_got := array(select id from :SCHEMA.admit('w', array['c'], 10));
    assert cardinality(v_got) <= 10;
    exit when v_got = '{}';
    v_ids := v_ids || v_got;
  end loop;
  assert cardinality(v_ids) = 25 and (select count(distinct i) from unnest(v_ids) i) = 25;
  assert not exists (select from :SCHEMA.admit('w', array['c'], 0));
end;
$test$;

-- test: only the queues asked for, several at once, unknown and empty ones cost nothing
do $test$
begin
  perform pg_temp.put('{"queue": "a", "id": "a"}');
  perform pg_temp.put('{"queue": "b", "id": "b"}');
  perform pg_temp.put('{"queue": "c", "id": "c"}');
  perform pg_temp.put('{"id": "d"}');
  assert not exists (select from :SCHEMA.admit('w', array['nowhere']));
  assert not exists (select from :SCHEMA.admit('w', '{}'));
  assert array(select id from :SCHEMA.admit('w', array['a', 'b', 'nowhere', 'a']) order by id) = array['a', 'b'];
  assert array(select id from :SCHEMA.admit('w', array[''])) = array['d'];
  assert (select count(*) from :SCHEMA.lease) = 2, 'a claim of nothing leaves no lease';
end;
$test$;

-- test: partitions share a claim, and what one leaves goes to the others
do $test$
declare
  v_claims jsonb;
begin
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'fair', 'partition_key', p.name))
    from (values ('big', 100), ('small', 2), ('tiny', 1)) p(name, n), generate_series(1, p.n)));
  select jsonb_object_agg(partition_key, n) into v_claims
  from (select partition_key, count(*) as n from :SCHEMA.admit('w', array['fair'], 12) group by partition_key) c;
  assert v_claims = '{"big": 9, "small": 2, "tiny": 1}', v_claims;
end;
$test$;

-- test: due jobs are claimed without waiting for the sweep, others and pending ones are not
do $test$
declare
  v_hint record;
  v_id text;
begin
  perform pg_temp.put('{"queue": "d", "pending": true}');
  v_id := pg_temp.put('{"queue": "d", "delay_ms": 60000}');
  perform pg_temp.put('{"queue": "d", "delay_ms": 90000}');
  select * into v_hint from :SCHEMA.admit_hinted('w', array['d'], 10, 1000);
  assert v_hint.id is null and v_hint.next_due_ms = (select scheduled_at_ms from :SCHEMA.get_job(v_id)), to_jsonb(v_hint);
  assert v_hint.refused = '{}';
  assert v_hint.next_due_ms - v_hint.store_now_ms between 1 and 60000, to_jsonb(v_hint);
  -- One that can't take any asks when there will be more.
  assert (select (id is null, next_due_ms, refused) = (true, v_hint.next_due_ms, '{}')
    from :SCHEMA.admit_hinted('w', array['d'], 0, 1000));
  perform pg_temp.later(70000);
  assert (select next_due_ms > v_hint.next_due_ms from :SCHEMA.admit_hinted('w', array['d'], 0, 1000))
    and pg_temp.state(v_id) = 'scheduled';
  assert array(select id from :SCHEMA.admit('w', array['d'], 10)) = array[v_id];
end;
$test$;

-- test: a sticky job goes to its worker only
do $test$
begin
  perform pg_temp.put('{"queue": "s", "id": "w1s", "sticky_worker": "w1"}');
  perform pg_temp.put('{"queue": "s", "id": "free"}');
  assert array(select id from :SCHEMA.admit('w2', array['s'])) = array['free'];
  assert array(select id from :SCHEMA.admit('w1', array['s'])) = array['w1s'];
end;
$test$;

-- test: a paused queue gives nothing
do $test$
begin
  perform pg_temp.put('{"queue": "p", "id": "x"}');
  insert into :SCHEMA.queue (queue, paused) values ('p', true);
  assert not exists (select from :SCHEMA.admit('w', array['p']));
  update :SCHEMA.queue set paused = false where queue = 'p';
  assert array(select id from :SCHEMA.admit('w', array['p'])) = array['x'];
end;
$test$;

-- test: the checkpoint comes with the next claim
do $test$
declare
  v_claim record;
begin
  perform pg_temp.put('{"queue": "k", "id": "x"}');
  select * into v_claim from :SCHEMA.admit('w', array['k']);
  perform :SCHEMA.checkpoint('x', v_claim.lease_id, v_claim.fence, '{"completed": ["a"], "n": 1.50}', '\x0001');
  perform :SCHEMA.ack('x', v_claim.lease_id, v_claim.fence, 'retry', delay_ms => 0);
  perform :SCHEMA.promote_due();
  select * into v_claim from :SCHEMA.admit('w', array['k']);
  assert v_claim.checkpoint = '{"completed": ["a"], "n": 1.50}' and v_claim.cursor = '\x0001' and v_claim.attempt = 1, to_jsonb(v_claim);
end;
$test$;

-- test: wrong arguments name their field
do $test$
declare
  v_case record;
  v_refusal jsonb;
begin
  for v_case in
    select * from (values
      ('null, array[''q'']', 'worker'), ('''''', 'worker'), ('repeat(''w'', 256)', 'worker'), ('repeat(''w'', 255)', null),
      ('''w'', null', 'queues'), ('''w'', array[repeat(''q'', 256)]', 'queues'), ('''w'', array[repeat(''q'', 255)]', null),
      ('''w'', array_fill(''q''::text, array[1001])', 'queues'),
      ('''w'', ''{q}'', -1', 'capacity'), ('''w'', ''{q}'', 10001', 'capacity'), ('''w'', ''{q}'', 10000', null),
      ('''w'', ''{q}'', null', 'capacity'),
      ('''w'', ''{q}'', 1, 0', 'lease_ms'), ('''w'', ''{q}'', 1, 1', null), ('''w'', ''{q}'', 1, null', 'lease_ms'),
      ('''w'', ''{q}'', 1, 315576000000000', null), ('''w'', ''{q}'', 1, 315576000000001', 'lease_ms'),
      ('''w'', ''{q}'', 1, 1, 0', 'quantum'), ('''w'', ''{q}'', 1, 1, 10001', 'quantum'), ('''w'', ''{q}'', 1, 1, 1', null),
      ('''w'', ''{q}'', 1, 1, 1, ''''', 'lease_id'), ('''w'', ''{q}'', 1, 1, 1, repeat(''l'', 256)', 'lease_id')
    ) c(arguments, field)
  loop
    v_refusal := pg_temp.refusal('select from :SCHEMA.admit(' || v_case.arguments || ')');
    assert v_refusal ->> 'code' = case when v_case.field is null then 'none' else 'HR007' end
      and v_refusal ->> 'field' is not distinct from v_case.field, v_case.arguments || ': ' || v_refusal;
  end loop;
end;
$test$;

-- test: counters at the end of their range hold up nobody (R-52)
do $test$
declare
  v_claim record;
  v_outcome text;
begin
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'sat', 'id', 'n' || n))
    from generate_series(1, 10) n));
  foreach v_outcome in array array['success', 'retry', 'skip', 'snooze', 'rate_limited', 'lost'] loop
    perform pg_temp.put(jsonb_build_object('queue', 'sat', 'id', v_outcome, 'payload', v_outcome,
      'max_attempts', 2147483647, 'retention_ms', 60000));
  end loop;
  update :SCHEMA.job
  set attempt = 2147483647, crash_attempt = 2147483647, fence = 9223372036854775807
  where id not like 'n%';
  assert (select count(*) from :SCHEMA.admit('w', array['sat'], 100, 1000)) = 16;
  for v_claim in select id, lease_id, fence from :SCHEMA.list_jobs('{"queue": "sat"}') where id <> 'lost' loop
    perform :SCHEMA.ack(v_claim.id, v_claim.lease_id, v_claim.fence,
      case when v_claim.id like 'n%' then 'success' else v_claim.id end, delay_ms => 5);
  end loop;
  assert pg_temp.state('success') = 'completed' and pg_temp.state('retry') = 'archived' and pg_temp.state('skip') = 'archived'
    and pg_temp.state('snooze') = 'scheduled' and pg_temp.state('rate_limited') = 'available';
  perform pg_temp.later(2000);
  assert (select count(*) from :SCHEMA.reclaim_expired()) = 1;
  assert pg_temp.state('lost') = 'quarantined';
  assert (select count(*) from :SCHEMA.job where attempt = 2147483647 and crash_attempt = 2147483647) = 6,
    (select jsonb_agg(array[id, attempt::text, crash_attempt::text, fence::text, state::text]) from :SCHEMA.job);
  -- It can be claimed once more; its fence can't rise.
  assert (select fence from :SCHEMA.admit('w', array['sat'], 1)) = 9223372036854775807;
end;
$test$;

-- test: attempt-neutral outcomes leave every counter alone (R-52)
do $test$
declare
  v_claim record;
begin
  perform pg_temp.put('{"queue": "n", "id": "n"}');
  for v_round in 1..300 loop
    select * into v_claim from :SCHEMA.admit('w', array['n']);
    perform :SCHEMA.ack('n', v_claim.lease_id, v_claim.fence, case v_round % 2 when 0 then 'snooze' else 'rate_limited' end,
      delay_ms => 1);
    perform pg_temp.later(2);
    perform :SCHEMA.promote_due();
  end loop;
  assert (select attempt + crash_attempt from :SCHEMA.get_job('n')) = 0;
  assert not exists (select from :SCHEMA.list_attempts('n'));
end;
$test$;

-- test: what a full ceiling does not let wait says so in its history, unless its queue keeps none
do $test$
declare
  v_strategy text;
begin
  foreach v_strategy in array '{discard,cancel_incoming}'::text[] loop
    perform :SCHEMA.upsert_concurrency_limit(v_strategy, v_strategy, 1, v_strategy);
    perform pg_temp.put(jsonb_build_object('queue', v_strategy, 'id', v_strategy || n)) from generate_series(1, 3) n;
    assert (select count(*) from :SCHEMA.admit('w', array[v_strategy], 10)) = 1;
  end loop;
  assert (select array_agg(a.job_id || ' ' || a.outcome || ' ' || a.attempt order by a.job_id) from :SCHEMA.attempt a)
    = '{cancel_incoming2 saturated_cancel 0,cancel_incoming3 saturated_cancel 0,discard2 saturated_discard 0,discard3 saturated_discard 0}',
    (select jsonb_agg(a) from :SCHEMA.attempt a);
  assert not exists (select from :SCHEMA.attempt a where a.error <> 'the ceiling of its partition was full');
  perform :SCHEMA.set_history_policy('discard', 'none');
  perform pg_temp.put('{"queue": "discard", "id": "silent"}');
  assert not exists (select from :SCHEMA.admit('w', array['discard'], 10));
  assert pg_temp.state('silent') = 'archived';
  assert not exists (select from :SCHEMA.attempt a where a.job_id = 'silent');
end;
$test$;
