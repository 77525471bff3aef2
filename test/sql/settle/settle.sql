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
-- A job of its own queue, claimed.
create function pg_temp.claimed(job jsonb default '{}') returns setof :SCHEMA.claim language plpgsql as $$
declare
  v_queue text := gen_random_uuid();
begin
  perform pg_temp.put(jsonb_build_object('queue', v_queue) || job);
  return query select * from :SCHEMA.admit('w', array[coalesce(job ->> 'queue', v_queue)], 1);
end;
$$;

-- test: each outcome reaches its state
do $test$
declare
  v_case record;
  v_claim record;
  v_job record;
  v_now bigint;
  v_state text;
begin
  for v_case in
    select * from (values
      ('success', '{}', null, 'deleted', null),
      ('success', '{"retention_ms": 60000}', null, 'completed', 0),
      ('retry', '{}', null, 'retryable', 1),
      ('retry', '{"max_attempts": 1}', null, 'archived', 1),
      ('skip', '{}', null, 'archived', 0),
      ('revoke', '{"retention_ms": 60000}', null, 'deleted', null),
      ('snooze', '{}', 5000, 'scheduled', 0),
      ('rate_limited', '{}', null, 'available', 0),
      ('undecodable', '{}', null, 'undecodable', 0),
      ('checkpoint_stale', '{}', null, 'undecodable', 0)
    ) c(outcome, job, delay_ms, expected, attempt)
  loop
    v_now := :SCHEMA.now_ms();
    select * into v_claim from pg_temp.claimed(v_case.job::jsonb);
    v_state := :SCHEMA.ack(v_claim.id, v_claim.lease_id, v_claim.fence, v_case.outcome, 'because', v_case.delay_ms);
    assert v_state = v_case.expected, v_case.outcome || ': ' || v_state;
    select * into v_job from :SCHEMA.get_job(v_claim.id);
    assert found = (v_case.expected <> 'deleted'), v_case.outcome;
    continue when not found;
    assert v_job.state = v_case.expected and v_job.attempt = v_case.attempt and v_job.crash_attempt = 0 and v_job.fence = 1
      and v_job.lease_id is null and v_job.claimed_at_ms is null, to_jsonb(v_job);
    assert (v_job.finalized_at_ms is not null) = (v_case.expected in ('completed', 'archived', 'undecodable')), to_jsonb(v_job);
    if v_job.finalized_at_ms is not null then
      assert v_job.evict_at_ms = v_job.finalized_at_ms
        + case when v_case.expected = 'completed' then 60000 else 604800000 end, to_jsonb(v_job);
    end if;
    if v_case.outcome = 'rate_limited' then
      assert v_job.scheduled_at_ms = v_claim.scheduled_at_ms, 'it keeps its place';
    elsif v_case.outcome = 'snooze' then
      assert v_job.scheduled_at_ms between v_now + 5000 and v_now + 35000, to_jsonb(v_job);
    elsif v_case.expected = 'retryable' then
      assert v_job.scheduled_at_ms between v_now + 1000 and v_now + 32000, to_jsonb(v_job);
    end if;
    -- What has ended can't be ended again.
    assert pg_temp.refusal(format('select :SCHEMA.ack(%L, %L, %s)', v_claim.id, v_claim.lease_id, v_claim.fence)) - 'message'
      = jsonb_build_object('code', 'HR005', 'job_id', v_claim.id), v_case.outcome;
  end loop;
end;
$test$;

-- test: who does not hold the job changes nothing
do $test$
declare
  v_claim record;
  v_before jsonb;
  v_call text;
  v_holder text;
begin
  select * into v_claim from pg_temp.claimed('{"id": "held"}');
  perform pg_temp.claimed('{"id": "other"}');
  select to_jsonb(j) into v_before from :SCHEMA.job j where id = 'held';
  foreach v_holder in array array[
    format('''held'', %L, %s', v_claim.lease_id, v_claim.fence - 1),
    format('''held'', %L, %s', v_claim.lease_id, v_claim.fence + 1),
    format('''held'', ''another'', %s', v_claim.fence),
    format('''other'', %L, %s', v_claim.lease_id, v_claim.fence),
    format('''nobody'', %L, %s', v_claim.lease_id, v_claim.fence),
    format('''j00000000ffffffff'', %L, %s', v_claim.lease_id, v_claim.fence)]
  loop
    foreach v_call in array array['ack(%s, ''success'')', 'ack(%s, ''retry'')', 'ack(%s, ''revoke'')', 'release(%s)',
      'complete(%s)', 'checkpoint(%s, ''{}'')', 'ack_success_with_result(%s, null, null, 1, ''\x00'')'] loop
      assert pg_temp.refusal(format('select :SCHEMA.' || v_call, v_holder)) ->> 'code' = 'HR005', v_call || ' ' || v_holder;
    end loop;
  end loop;
  assert (select to_jsonb(j) from :SCHEMA.job j where id = 'held') = v_before;
  assert not exists (select from :SCHEMA.job_extra) and not exists (select from :SCHEMA.attempt);
  assert :SCHEMA.ack('held', v_claim.lease_id, v_claim.fence) = 'deleted';
end;
$test$;

-- test: an expired lease that nobody reclaimed still counts
do $test$
declare
  v_claim record;
begin
  select * into v_claim from pg_temp.claimed();
  perform pg_temp.later(3600000);
  assert :SCHEMA.ack(v_claim.id, v_claim.lease_id, v_claim.fence) = 'deleted';
end;
$test$;

-- test: a batch of acks rejects one by one
do $test$
declare
  v_acks jsonb;
  v_rows jsonb;
begin
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'm', 'id', 'm' || n)) from generate_series(1, 4) n));
  select jsonb_agg(jsonb_build_object('job_id', id, 'lease_id', lease_id, 'fence', fence, 'outcome',
    case id when 'm2' then 'retry' when 'm3' then 'skip' else 'success' end)) into v_acks
  from :SCHEMA.admit('w', array['m']);
  v_acks := jsonb_set(v_acks, '{0,fence}', '7') || jsonb_build_array(v_acks -> 3,
    '{"job_id": "gone", "lease_id": "l", "fence": 1, "outcome": "success"}'::jsonb);
  select jsonb_agg(to_jsonb(a) order by ord) into v_rows from :SCHEMA.ack_many(v_acks::json) a;
  assert v_rows = '[{"ord": 1, "job_id": "m1", "state": null, "rejected": true},
    {"ord": 2, "job_id": "m2", "state": "retryable", "rejected": false},
    {"ord": 3, "job_id": "m3", "state": "archived", "rejected": false},
    {"ord": 4, "job_id": "m4", "state": "deleted", "rejected": false},
    {"ord": 5, "job_id": "m4", "state": null, "rejected": true},
    {"ord": 6, "job_id": "gone", "state": null, "rejected": true}]', v_rows;
  assert pg_temp.state('m1') = 'running';
  assert not exists (select from :SCHEMA.ack_many('[]'));
end;
$test$;

-- test: wrong acks name their field and write nothing
do $test$
declare
  v_claim record;
  v_case record;
  v_refusal jsonb;
begin
  select * into v_claim from pg_temp.claimed('{"id": "v"}');
  for v_case in
    select * from (values
      ('{"job_id": null}', 'job_id'), ('{"lease_id": null}', 'lease_id'), ('{"fence": null}', 'fence'),
      ('{"outcome": null}', 'outcome'), ('{"outcome": "done"}', 'outcome'), ('{"outcome": "lease_lost"}', 'outcome'),
      ('{"outcome": "retry", "delay_ms": -1}', 'delay_ms'), ('{"outcome": "retry", "delay_ms": 315576000000001}', 'delay_ms'),
      ('{"outcome": "snooze"}', 'delay_ms'), ('{"outcome": "snooze", "delay_ms": 0}', 'delay_ms'),
      ('{"actual_weight": -1}', 'actual_weight'),
      ('{"result_base64": "AA==", "result_schema_version": 0}', 'result_schema_version'),
      ('{"outcome": "retry", "result_base64": "AA=="}', 'result'),
      ('{"fence": "x"}', 'acks'), ('{"result_base64": "*"}', 'acks'), ('{"error": "a\u0000b"}', 'acks')
    ) c(ack, field)
  loop
    -- Text, not jsonb: one of the cases can't be read as jsonb. The last of two equal keys counts.
    v_refusal := pg_temp.refusal(format('select from :SCHEMA.ack_many(%L)', '[{"job_id": "v", "outcome": "success", '
      || format('"lease_id": "%s", "fence": %s, ', v_claim.lease_id, v_claim.fence) || substr(v_case.ack, 2) || ']'));
    assert v_refusal ->> 'code' = 'HR007' and v_refusal ->> 'field' = v_case.field, v_case.ack || ': ' || v_refusal;
  end loop;
  assert pg_temp.refusal('select from :SCHEMA.ack_many(''{}'')') ->> 'field' = 'acks';
  assert pg_temp.refusal('select from :SCHEMA.ack_many(null)') ->> 'field' = 'acks';
  assert pg_temp.refusal('select from :SCHEMA.ack_many(''[1]'')') ->> 'field' = 'acks';
  assert pg_temp.refusal('select from :SCHEMA.ack_many((select json_agg(''{}''::json) from generate_series(1, 10001)))') ->> 'field' = 'acks';
  assert pg_temp.state('v') = 'running';
  assert pg_temp.refusal($q$select :SCHEMA.ack_success_with_result('v', 'l', 1, null, null, 1, null)$q$) ->> 'field' = 'bytes';
  assert pg_temp.refusal(format($q$select :SCHEMA.ack_success_with_result('v', 'l', 1, null, null, 1, decode(repeat('00', 33554433), 'hex'))$q$))
    ->> 'field' = 'result';
end;
$test$;

-- test: ack_batch does what ack_many does, and is silent of jobs that are gone as they should be
do $test$
declare
  v_ids text[];
  v_leases text[];
  v_fences bigint[];
  v_rows jsonb;
begin
  perform pg_temp.put('{"queue": "b", "id": "b1"}');
  perform pg_temp.put('{"queue": "b"}');
  perform pg_temp.put('{"queue": "b", "id": "b3", "retention_ms": 60000}');
  perform pg_temp.put('{"queue": "b", "id": "b4"}');
  perform pg_temp.put('{"queue": "b", "id": "b5"}');
  perform pg_temp.put('{"queue": "b", "id": "b6"}');
  select array_agg(a.id), array_agg(a.lease_id), array_agg(a.fence) into v_ids, v_leases, v_fences
  from :SCHEMA.admit('w', array['b']) a;
  assert v_ids[1] = 'b1' and v_ids[2] like 'j%' and cardinality(v_ids) = 6;
  insert into :SCHEMA.job_extra (key, output, output_schema_version)
  select j.key, 'x', 1 from :SCHEMA.job j where j.queue = 'b';
  select jsonb_agg(to_jsonb(r) order by r.ord) into v_rows
  from :SCHEMA.ack_batch(
    v_ids[1:4] || v_ids[1] || array['gone', 'j00000000ffffffff', v_ids[5]],
    v_leases[1:4] || v_leases[1] || array['l', 'l', 'another'],
    v_fences[1:3] || array[v_fences[4] + 1, v_fences[1], 1, 1, v_fences[5]],
    json_build_array(json_build_object('job_id', v_ids[6], 'lease_id', v_leases[6], 'fence', v_fences[6],
      'outcome', 'skip'))) r;
  assert v_rows = '[{"ord": 1, "state": "archived", "rejected": false},
    {"ord": 4, "state": "completed", "rejected": false},
    {"ord": 5, "state": null, "rejected": true},
    {"ord": 6, "state": null, "rejected": true},
    {"ord": 7, "state": null, "rejected": true},
    {"ord": 8, "state": null, "rejected": true},
    {"ord": 9, "state": null, "rejected": true}]', v_rows;
  assert not exists (select from :SCHEMA.get_job(v_ids[1])) and not exists (select from :SCHEMA.get_job(v_ids[2]));
  assert pg_temp.state('b4') = 'running' and pg_temp.state('b5') = 'running';
  assert (select count(*) from :SCHEMA.job_extra) = 4, 'what stood beside the jobs that are gone';
  assert (select (sum(completed), sum(failed)) = (3, 1) from :SCHEMA.tally t where t.queue = 'b');
  assert not exists (select from :SCHEMA.ack_batch('{}', '{}', '{}'));
end;
$test$;

-- test: ack_batch keeps history, frees ceilings, and closes the runs of jobs that leave no trace otherwise
do $test$
declare
  v_claim record;
  v_queue text;
begin
  perform :SCHEMA.upsert_concurrency_limit('full', 'ceiled', 1, 'queue');
  perform pg_temp.put('{"queue": "ceiled", "id": "c1"}');
  perform pg_temp.put('{"queue": "ceiled", "id": "c2"}');
  perform pg_temp.put('{"queue": "opened", "id": "o1"}');
  foreach v_queue in array array['ceiled', 'opened'] loop
    select * into v_claim from :SCHEMA.admit('w', array[v_queue]) a;
    insert into :SCHEMA.attempt (job_key, job_id, kind, queue, attempt, fence, worker, started_at_ms, run_id)
    select :SCHEMA.job_key('o1'), 'o1', 'task', 'opened', 1, v_claim.fence, 'w', 1, 'run' where v_queue = 'opened';
    perform :SCHEMA.ack_batch(array[v_claim.id], array[v_claim.lease_id], array[v_claim.fence]);
    assert not exists (select from :SCHEMA.get_job(v_claim.id)), v_queue;
    assert not exists (select from :SCHEMA.lease where queue is not null), v_queue;
  end loop;
  assert (select id = 'c2' from :SCHEMA.admit('w', array['ceiled'])), 'the place is free';
  assert (select (outcome, finished_at_ms is not null) = ('success', true) from :SCHEMA.attempt where run_id = 'run');

  assert not exists (select from :SCHEMA.attempt where job_id = 'h1');
  perform :SCHEMA.set_history_policy('kept', 'all');
  perform pg_temp.put('{"queue": "kept", "id": "h1"}');
  select * into v_claim from :SCHEMA.admit('w', array['kept']);
  perform :SCHEMA.ack_batch(array[v_claim.id], array[v_claim.lease_id], array[v_claim.fence]);
  assert not exists (select from :SCHEMA.get_job('h1'));
  assert (select outcome = 'success' from :SCHEMA.attempt where job_id = 'h1');
end;
$test$;

-- test: ack_batch refuses lists of different length, nulls, and what ack_many refuses
do $test$
declare
  v_bad text;
  v_claim record;
begin
  select * into v_claim from pg_temp.claimed('{"id": "whole"}');
  foreach v_bad in array array['''{a}'', ''{}'', ''{1}''', '''{a}'', ''{a}'', ''{1,2}''', '''{null}'', ''{a}'', ''{1}''',
    '''{a}'', ''{null}'', ''{1}''', '''{a}'', ''{a}'', ''{null}''', 'null, ''{}'', ''{}'''] loop
    assert pg_temp.refusal('select from :SCHEMA.ack_batch(' || v_bad || ')') ->> 'field' = 'job_ids', v_bad;
  end loop;
  assert pg_temp.refusal(format('select from :SCHEMA.ack_batch(array[%L], array[%L], array[%s], %L)',
    v_claim.id, v_claim.lease_id, v_claim.fence,
    '[{"job_id": "x", "lease_id": "l", "fence": 1, "outcome": "mistake"}]')) ->> 'field' = 'outcome';
  -- In a longer list that was taken apart, an ack has the number of its place there.
  assert pg_temp.refusal(format('select from :SCHEMA.ack_batch(array[%L], array[%L], array[%s], %L, array[4, 7])',
    v_claim.id, v_claim.lease_id, v_claim.fence,
    '[{"job_id": "x", "lease_id": "l", "fence": 1, "outcome": "skip"}, '
    '{"job_id": "x", "lease_id": "l", "fence": 1, "outcome": "mistake"}]')) ->> 'reason' = 'is unknown: mistake (ack 7)';
  assert pg_temp.refusal(format('select from :SCHEMA.ack_batch(array[%L], array[%L], array[%s], %L, array[2])',
    v_claim.id, v_claim.lease_id, v_claim.fence,
    '[{"job_id": "x", "lease_id": "l", "fence": 1, "outcome": "snooze"}]')) ->> 'reason' = 'is needed for a snooze (ack 2)';
  assert pg_temp.state('whole') = 'running', 'nothing is written';
end;
$test$;

-- test: an ack without an outcome is refused beside plain successes as it is alone
do $test$
declare
  v_bad text;
  v_refusal jsonb;
begin
  foreach v_bad in array array['"error": "e"', '"delay_ms": 5', '"actual_weight": 1'] loop
    v_refusal := pg_temp.refusal(format('select from :SCHEMA.ack_many(%L)',
      '[{"job_id": "x", "lease_id": "l", "fence": 1, "outcome": "success"}, '
      '{"job_id": "x", "lease_id": "l", "fence": 1, ' || v_bad || '}]'));
    assert v_refusal ->> 'code' = 'HR007' and v_refusal ->> 'field' = 'outcome', v_bad || ': ' || v_refusal;
  end loop;
end;
$test$;

-- test: an unknown key of an ack or of a lease is named, with those that are known, and nothing is written
do $test$
declare
  v_claim record;
  v_case record;
  v_good text;
  v_refusal jsonb;
begin
  select * into v_claim from pg_temp.claimed('{"id": "user:7:k"}');
  v_good := format('{"job_id":"user:7:k","lease_id":"%s","fence":%s,"outcome":"retry","error":"a: b","logs":["c:d"]}',
    v_claim.lease_id, v_claim.fence);
  for v_case in
    select * from (values
      ('{"delayMs":5000,', 'delayMs'), ('{ "delayMs" : null,', 'delayMs'), ('{"delay":{"ms":1},', 'delay'),
      ('{"a:b":1,', 'a:b'), ('{"":"",', ''), ('{"outcome":null,"Outcome":"retry",', 'Outcome'),
      ('{"ord":1,"job_id":"user:7:k",', 'ord')
    ) c(begins, field)
  loop
    v_refusal := pg_temp.refusal(format('select from :SCHEMA.ack_many(%L)', '[' || v_case.begins || substr(v_good, 2) || ']'));
    assert v_refusal ->> 'code' = 'HR007' and v_refusal ->> 'field' = v_case.field
      and v_refusal ->> 'reason' = 'is not a known field' and v_refusal ->> 'bound' ~ 'delay_ms', v_case.begins || ': ' || v_refusal;
    v_refusal := pg_temp.refusal(format('select from :SCHEMA.ack_many(%L)', '[' || v_good || ',' || v_case.begins || substr(v_good, 2) || ']'));
    assert v_refusal ->> 'reason' = 'is not a known field (ack 2)', v_case.begins || ': ' || v_refusal;
  end loop;
  -- As many colons as it has values, were null one.
  v_refusal := pg_temp.refusal('select from :SCHEMA.ack_many(''[{"job_id":"x","lease_id":null,"fence":1,"outcome":"skip","delayMs":1}]'')');
  assert v_refusal ->> 'field' = 'delayMs', v_refusal;
  v_refusal := pg_temp.refusal('select from :SCHEMA.ack_many(''[{"job_id":"x","typo":"\u0000"}]'')');
  assert v_refusal ->> 'field' = 'acks', v_refusal;
  v_refusal := pg_temp.refusal(format('select from :SCHEMA.renew(%L, 1000)', '[' || v_good || ']'));
  assert v_refusal ->> 'code' = 'HR007' and v_refusal ->> 'bound' = 'job_id, lease_id, fence'
    and v_refusal ->> 'reason' = 'is not a known field', v_refusal;
  assert pg_temp.refusal('select from :SCHEMA.renew(''[{"job_id":"a","lease_id":"b","fence":1},{"jobId":"a"}]'', 1000)')
    @> '{"field": "jobId", "reason": "is not a known field (lease 2)"}';
  assert pg_temp.state('user:7:k') = 'running';
  -- What may stand in a value changes nothing.
  assert not exists (select from :SCHEMA.renew(format('[{"job_id":"user:7:k","lease_id":"%s","fence":%s}]',
    v_claim.lease_id, v_claim.fence)::json, 1000));
  assert (select state from :SCHEMA.ack_many(('[' || v_good || ']')::json)) = 'retryable';
end;
$test$;

-- test: back-off stays within its bounds for every attempt number (R-99)
do $test$
declare
  v_attempt integer;
  v_claim record;
  v_job record;
  v_now bigint;
  v_base bigint;
begin
  foreach v_attempt in array array[0, 3, 20, 40, 63, 64, 305, 2147483645] loop
    select * into v_claim from pg_temp.claimed('{"max_attempts": 2147483647}');
    update :SCHEMA.job set attempt = v_attempt where key = :SCHEMA.job_key(v_claim.id);
    v_now := :SCHEMA.now_ms();
    assert :SCHEMA.ack(v_claim.id, v_claim.lease_id, v_claim.fence, 'retry') = 'retryable', v_attempt;
    select * into v_job from :SCHEMA.get_job(v_claim.id);
    v_base := case v_attempt when 0 then 1000 when 3 then 8000 else 3600000 end;
    assert v_job.scheduled_at_ms - v_now between v_base and v_base + 1000 + 10000, v_attempt || ': ' || v_job.scheduled_at_ms - v_now;
    assert v_job.attempt = v_attempt + 1;
  end loop;
  select * into v_claim from pg_temp.claimed();
  v_now := :SCHEMA.now_ms();
  perform :SCHEMA.ack(v_claim.id, v_claim.lease_id, v_claim.fence, 'retry', delay_ms => 0);
  assert (select scheduled_at_ms from :SCHEMA.get_job(v_claim.id)) between v_now and v_now + 10000;
end;
$test$;

-- test: results are kept with the job, and only there
do $test$
declare
  v_claim record;
begin
  select * into v_claim from pg_temp.claimed('{"id": "r", "retention_ms": 60000}');
  assert :SCHEMA.ack_success_with_result('r', v_claim.lease_id, v_claim.fence, '["line"]', 1, 3, '\x00ff') = 'completed';
  assert (select (result, result_schema_version) = ('\x00ff'::bytea, 3) from :SCHEMA.job_extra);
  perform pg_temp.later(60001);
  assert :SCHEMA.evict_retained() = 1;
  select * into v_claim from pg_temp.claimed();
  assert :SCHEMA.ack_success_with_result(v_claim.id, v_claim.lease_id, v_claim.fence, null, null, null, '\x01') = 'deleted';
  assert not exists (select from :SCHEMA.job_extra) and not exists (select from :SCHEMA.attempt);
end;
$test$;

-- test: errors and logs are cut on whole characters, history keeps its newest fifty
do $test$
declare
  v_claim record;
  v_attempt record;
begin
  select * into v_claim from pg_temp.claimed('{"id": "h", "queue": "h", "max_attempts": 1000}');
  perform :SCHEMA.ack('h', v_claim.lease_id, v_claim.fence, 'retry', repeat('a', 8191) || '🦁', 0,
    (select jsonb_agg(repeat('é', 1200) || n) from generate_series(1, 150) n));
  select * into v_attempt from :SCHEMA.list_attempts('h');
  assert v_attempt.error = repeat('a', 8191), octet_length(v_attempt.error);
  assert v_attempt.attempt = 1 and v_attempt.outcome = 'retry' and v_attempt.worker = 'w' and v_attempt.fence = 1;
  assert jsonb_array_length(v_attempt.logs) = 100 and v_attempt.logs ->> 99 = repeat('é', 1024);
  for v_round in 2..60 loop
    perform :SCHEMA.promote_due();
    select * into v_claim from :SCHEMA.admit('w', array['h']);
    perform :SCHEMA.ack('h', v_claim.lease_id, v_claim.fence, 'retry', 'round ' || v_round, 0);
  end loop;
  assert (select count(*) from :SCHEMA.attempt) = 50;
  assert (select max(error) filter (where no = (select max(no) from :SCHEMA.attempt)) from :SCHEMA.attempt) = 'round 60';
end;
$test$;

-- test: history keeps its newest fifty of ends that spend no attempt, too
do $test$
declare
  v_claim record;
begin
  perform pg_temp.put('{"id": "h", "queue": "h"}');
  for v_round in 1..60 loop
    select * into v_claim from :SCHEMA.admit('w', array['h']);
    perform :SCHEMA.ack('h', v_claim.lease_id, v_claim.fence, 'skip', 'round ' || v_round);
    perform :SCHEMA.operator_retry('h');
  end loop;
  assert (select attempt from :SCHEMA.get_job('h')) = 0;
  assert (select count(*) from :SCHEMA.attempt) = 50, (select count(*) from :SCHEMA.attempt);
  assert exists (select from :SCHEMA.attempt where error = 'round 60');
end;
$test$;

-- test: a checkpoint is an object within its bounds
do $test$
declare
  v_claim record;
  v_call text;
begin
  select * into v_claim from pg_temp.claimed('{"id": "c"}');
  v_call := format('select :SCHEMA.checkpoint(''c'', %L, %s, %%s)', v_claim.lease_id, v_claim.fence);
  assert pg_temp.refusal(format(v_call, '''[]''')) ->> 'field' = 'checkpoint';
  assert pg_temp.refusal(format(v_call, 'null')) ->> 'field' = 'checkpoint';
  assert pg_temp.refusal(format(v_call, '''{"a": "\u0000"}''')) ->> 'field' = 'checkpoint';
  assert pg_temp.refusal(format(v_call, '''{"a": 1e200000}''')) ->> 'field' = 'checkpoint';
  assert pg_temp.refusal(format(v_call, 'json_build_object(''a'', repeat(''x'', 1048576))')) ->> 'field' = 'checkpoint';
  assert pg_temp.refusal(format(v_call, '''{}'', decode(repeat(''00'', 1048577), ''hex'')')) ->> 'field' = 'cursor';
  assert pg_temp.refusal(format(v_call, '''{"a": 1}'', decode(repeat(''00'', 1048576), ''hex'')')) ->> 'code' = 'none';
  assert (select checkpoint from :SCHEMA.job_extra) = '{"a": 1}';
end;
$test$;

-- test: an effect happens once
do $test$
begin
  assert :SCHEMA.claim_effect('e');
  assert not :SCHEMA.claim_effect('e');
  assert :SCHEMA.claim_effect('E');
  assert :SCHEMA.claim_effect(repeat('k', 512));
  assert pg_temp.refusal('select :SCHEMA.claim_effect(repeat(''k'', 513))') ->> 'field' = 'key';
  assert pg_temp.refusal('select :SCHEMA.claim_effect('''')') ->> 'field' = 'key';
  perform pg_temp.later(31 * 86400000::bigint);
  perform :SCHEMA.janitor();
  assert :SCHEMA.claim_effect('e');
end;
$test$;

-- test: renew extends what is held and returns exactly what is not (R-08)
do $test$
declare
  v_claims jsonb;
  v_lost text[];
  v_now bigint;
begin
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'r', 'id', 'r' || n)) from generate_series(1, 5) n));
  select jsonb_agg(jsonb_build_object('job_id', id, 'lease_id', lease_id, 'fence', fence) order by id) into v_claims
  from :SCHEMA.admit('w1', array['r'], 5, 1000);
  perform :SCHEMA.operator_cancel('r2');
  perform :SCHEMA.ack('r5', v_claims -> 4 ->> 'lease_id', 1);
  update :SCHEMA.lease set expires_at_ms = 0;
  -- r4 is reclaimed by itself: the others are held in rows of their own by then.
  v_lost := array(select :SCHEMA.renew(jsonb_build_array(v_claims -> 0, v_claims -> 2)::json, 60000));
  assert v_lost = '{}', v_lost;
  assert array(select id from :SCHEMA.reclaim_expired()) = array['r4'];
  perform pg_temp.later(10000);
  perform :SCHEMA.promote_due();
  assert (select id from :SCHEMA.admit('w2', array['r'], 5, 777777)) = 'r4';
  v_now := :SCHEMA.now_ms();
  v_lost := array(select :SCHEMA.renew(v_claims::json, 30000));
  assert v_lost = array['r2', 'r4', 'r5'], v_lost;
  -- A shorter renewal does not shorten: 10 of the 60 seconds have gone.
  assert (select bool_and(lease_expires_at_ms between v_now + 40000 and v_now + 50000)
    from :SCHEMA.list_jobs('{"queue": "r"}') where id in ('r1', 'r3'));
  assert (select lease_expires_at_ms > v_now + 700000 from :SCHEMA.get_job('r4'));
  -- Both are still held by who asked.
  assert :SCHEMA.ack('r1', v_claims -> 0 ->> 'lease_id', 1) = 'deleted';
  assert array(select :SCHEMA.renew(v_claims::json, 30000)) = array['r1', 'r2', 'r4', 'r5'];
  assert :SCHEMA.ack('r3', v_claims -> 2 ->> 'lease_id', 1) = 'deleted';
end;
$test$;

-- test: renew takes an empty list, and refuses what is no list or no time (R-08)
do $test$
begin
  assert not exists (select from :SCHEMA.renew('[]', 1));
  assert pg_temp.refusal('select :SCHEMA.renew(''[]'', 0)') ->> 'field' = 'lease_ms';
  assert pg_temp.refusal('select :SCHEMA.renew(''[]'', null)') ->> 'field' = 'lease_ms';
  assert pg_temp.refusal('select :SCHEMA.renew(''{}'', 1)') ->> 'field' = 'leases';
  assert pg_temp.refusal('select :SCHEMA.renew(null, 1)') ->> 'field' = 'leases';
  assert pg_temp.refusal('select :SCHEMA.renew(''[{"fence": "x"}]'', 1)') ->> 'field' = 'leases';
  assert array(select :SCHEMA.renew('[{"job_id": "a"}, {"job_id": "b", "lease_id": "l", "fence": 1}]', 1)) = array['a', 'b'];
end;
$test$;

-- test: what the operator says about history is kept
do $test$
declare
  v_claim record;
  v_keep text;
begin
  foreach v_keep in array array['failures', 'all', 'none'] loop
    insert into :SCHEMA.queue (queue, history) values (v_keep, v_keep);
    select * into v_claim from pg_temp.claimed(jsonb_build_object('queue', v_keep, 'id', v_keep, 'retention_ms', 60000));
    perform :SCHEMA.ack(v_keep, v_claim.lease_id, v_claim.fence, 'retry', 'no', 0);
    perform :SCHEMA.promote_due();
    select * into v_claim from :SCHEMA.admit('w', array[v_keep]);
    perform :SCHEMA.ack(v_keep, v_claim.lease_id, v_claim.fence, 'success');
    assert (select count(*) from :SCHEMA.list_attempts(v_keep)) = case v_keep when 'all' then 2 when 'none' then 0 else 1 end, v_keep;
  end loop;
end;
$test$;
