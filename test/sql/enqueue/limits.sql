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
-- What is wrong with one job: the code and the field, or "none".
create function pg_temp.fault(job jsonb) returns text language sql as $$
  select concat_ws(' ', r ->> 'code', r ->> 'field')
  from pg_temp.refusal(format('select from :SCHEMA.enqueue_many(%L::json)', jsonb_build_array(job))) r;
$$;

-- test: each limit, at the bound and one beyond, names its field
do $test$
declare
  v_case record;
  v_fault text;
begin
  for v_case in
    select * from (values
      ('{}', 'HR007 kind'),
      ('{"kind": null}', 'HR007 kind'),
      ('{"kind": ""}', 'HR007 kind'),
      ('{"kind": "a"}', 'none'),
      ('{"kind": "_x[y]<z>/.:+-9"}', 'none'),
      ('{"kind": "9lives"}', 'none'),
      ('{"kind": "-a"}', 'HR007 kind'),
      ('{"kind": ".a"}', 'HR007 kind'),
      ('{"kind": "a b"}', 'HR007 kind'),
      ('{"kind": "a\n"}', 'HR007 kind'),
      ('{"kind": "é"}', 'HR007 kind'),
      (json_build_object('kind', repeat('k', 128))::text, 'none'),
      (json_build_object('kind', repeat('k', 129))::text, 'HR007 kind'),
      ('{"kind": "a", "id": ""}', 'HR007 id'),
      (json_build_object('kind', 'a', 'id', repeat('i', 255))::text, 'none'),
      (json_build_object('kind', 'a', 'id', repeat('é', 128))::text, 'HR007 id'),
      (json_build_object('kind', 'a', 'id', 'j0123456789abcdef')::text, 'HR007 id'),
      (json_build_object('kind', 'a', 'payload', repeat('p', 1048574))::text, 'none'),
      (json_build_object('kind', 'a', 'payload', repeat('p', 1048575))::text, 'HR007 payload'),
      (json_build_object('kind', 'a', 'queue', repeat('q', 255))::text, 'none'),
      (json_build_object('kind', 'a', 'queue', repeat('q', 256))::text, 'HR007 queue'),
      ('{"kind": "a", "queue": ""}', 'none'),
      (json_build_object('kind', 'a', 'partition_key', repeat('q', 255))::text, 'none'),
      (json_build_object('kind', 'a', 'partition_key', repeat('q', 256))::text, 'HR007 partition_key'),
      (json_build_object('kind', 'a', 'rate_class', repeat('c', 255))::text, 'none'),
      (json_build_object('kind', 'a', 'rate_class', repeat('c', 256))::text, 'HR007 rate_classes'),
      ('{"kind": "a", "rate_classes": ["a", "b", "c", "d"]}', 'none'),
      ('{"kind": "a", "rate_classes": ["a", "b", "c", "d", "e"]}', 'HR007 rate_classes'),
      ('{"kind": "a", "rate_classes": [""]}', 'HR007 rate_classes'),
      ('{"kind": "a", "rate_classes": [null]}', 'HR007 rate_classes'),
      ('{"kind": "a", "rate_classes": "a"}', 'HR007 rate_classes'),
      ('{"kind": "a", "rate_class": "a", "rate_classes": ["b"]}', 'HR007 rate_class'),
      (json_build_object('kind', 'a', 'sticky_worker', repeat('w', 255))::text, 'none'),
      (json_build_object('kind', 'a', 'sticky_worker', repeat('w', 256))::text, 'HR007 sticky_worker'),
      ('{"kind": "a", "fingerprint": ""}', 'HR007 fingerprint'),
      (json_build_object('kind', 'a', 'fingerprint', repeat('f', 255))::text, 'none'),
      (json_build_object('kind', 'a', 'fingerprint', repeat('f', 256))::text, 'HR007 fingerprint'),
      ('{"kind": "a", "weight": 0}', 'HR007 weight'),
      ('{"kind": "a", "weight": 2147483647}', 'none'),
      ('{"kind": "a", "weight": 2147483648}', 'HR007 weight'),
      ('{"kind": "a", "max_attempts": 0}', 'HR007 max_attempts'),
      ('{"kind": "a", "max_attempts": 1}', 'none'),
      ('{"kind": "a", "max_attempts": 2147483647}', 'none'),
      ('{"kind": "a", "max_attempts": 2147483648}', 'HR007 max_attempts'),
      ('{"kind": "a", "schema_version": 0}', 'HR007 schema_version'),
      ('{"kind": "a", "schema_version": 1}', 'none'),
      ('{"kind": "a", "priority": -2147483648}', 'none'),
      ('{"kind": "a", "priority": 2147483647}', 'none'),
      ('{"kind": "a", "priority": 2147483648}', 'HR007 priority'),
      ('{"kind": "a", "priority": -2147483649}', 'HR007 priority'),
      ('{"kind": "a", "priority": 1.5}', 'HR007 priority'),
      ('{"kind": "a", "priority": "high"}', 'HR007 priority'),
      ('{"kind": "a", "delay_ms": -1}', 'HR007 delay_ms'),
      ('{"kind": "a", "delay_ms": 0}', 'none'),
      ('{"kind": "a", "delay_ms": 315576000000000}', 'none'),
      ('{"kind": "a", "delay_ms": 315576000000001}', 'HR007 delay_ms'),
      ('{"kind": "a", "delay_ms": 9223372036854775808}', 'HR007 delay_ms'),
      ('{"kind": "a", "scheduled_at_ms": -1}', 'HR007 scheduled_at_ms'),
      ('{"kind": "a", "scheduled_at_ms": 0}', 'none'),
      ('{"kind": "a", "scheduled_at_ms": 315576000000001}', 'HR007 scheduled_at_ms'),
      ('{"kind": "a", "scheduled_at_ms": 1, "delay_ms": 1}', 'HR007 delay_ms'),
      ('{"kind": "a", "timeout_ms": -1}', 'HR007 timeout_ms'),
      ('{"kind": "a", "timeout_ms": 315576000000001}', 'HR007 timeout_ms'),
      ('{"kind": "a", "deadline_ms": -1}', 'HR007 deadline_ms'),
      ('{"kind": "a", "deadline_ms": 315576000000001}', 'HR007 deadline_ms'),
      ('{"kind": "a", "retention_ms": -1}', 'HR007 retention_ms'),
      ('{"kind": "a", "retention_ms": 315576000000001}', 'HR007 retention_ms'),
      (json_build_object('kind', 'a', 'unique_key', repeat('u', 1024))::text, 'none'),
      (json_build_object('kind', 'a', 'unique_key', repeat('u', 1025))::text, 'HR007 unique_key'),
      ('{"kind": "a", "unique_key_base64": "*"}', 'HR007 unique_key_base64'),
      ('{"kind": "a", "unique_key": "a", "unique_key_base64": "YQ=="}', 'HR007 unique_key_base64'),
      ('{"kind": "a", "unique_window_ms": 1}', 'HR007 unique_window_ms'),
      ('{"kind": "a", "unique_key": "w", "unique_window_ms": -1}', 'HR007 unique_window_ms'),
      ('{"kind": "a", "unique_key": "s", "unique_scope": "queue"}', 'HR007 unique_scope'),
      ('{"kind": "a", "unique_replace": ["payload"]}', 'HR007 unique_replace'),
      ('{"kind": "a", "unique_key": "r", "unique_replace": ["kind"]}', 'HR007 unique_replace'),
      ('{"kind": "a", "unique_key": "r", "unique_replace": "payload"}', 'HR007 unique_replace'),
      ('{"kind": "a", "unique_key": "r", "unique_replace": ["payload"], "unique_window_ms": 5}', 'HR007 unique_replace'),
      ('{"kind": "a", "unique_debounce_ms": 5}', 'HR007 unique_debounce_ms'),
      ('{"kind": "a", "unique_key": "d", "unique_debounce_ms": -5}', 'HR007 unique_debounce_ms'),
      ('{"kind": "a", "unique_key": "d", "unique_debounce_ms": 5, "delay_ms": 1}', 'HR007 unique_debounce_ms'),
      ('{"kind": "a", "pending": true, "delay_ms": 1}', 'HR007 pending'),
      ('{"kind": "a", "pending": "perhaps"}', 'HR007 pending'),
      ('{"kind": "a", "periodic_schedule_id": "s"}', 'HR007 periodic_schedule_id'),
      ('{"kind": "a", "periodic_tick_ms": 1}', 'HR007 periodic_schedule_id'),
      ('{"kind": "a", "periodic_schedule_id": "s", "periodic_tick_ms": 0}', 'HR007 periodic_tick_ms'),
      (json_build_object('kind', 'a', 'periodic_schedule_id', repeat('s', 255), 'periodic_tick_ms', 1)::text, 'none'),
      (json_build_object('kind', 'a', 'periodic_schedule_id', repeat('s', 256), 'periodic_tick_ms', 1)::text,
        'HR007 periodic_schedule_id'),
      ('{"kind": "a", "tags": "x"}', 'HR007 tags'),
      ('{"kind": "a", "tags": [""]}', 'HR007 tags'),
      ('{"kind": "a", "tags": ["é"]}', 'HR007 tags'),
      ('{"kind": "a", "tags": ["a", "a"]}', 'HR007 tags'),
      ('{"kind": "a", "tags": [null]}', 'HR007 tags'),
      (json_build_object('kind', 'a', 'tags', json_build_array(repeat('t', 64)))::text, 'none'),
      (json_build_object('kind', 'a', 'tags', json_build_array(repeat('t', 65)))::text, 'HR007 tags'),
      (json_build_object('kind', 'a', 'tags', (select json_agg('t' || n) from generate_series(1, 32) n))::text, 'none'),
      (json_build_object('kind', 'a', 'tags', (select json_agg('t' || n) from generate_series(1, 33) n))::text, 'HR007 tags'),
      ('{"kind": "a", "headers": []}', 'HR007 headers'),
      (json_build_object('kind', 'a', 'headers', (select json_object_agg('h' || n, 1) from generate_series(1, 128) n))::text,
        'none'),
      (json_build_object('kind', 'a', 'headers', (select json_object_agg('h' || n, 1) from generate_series(1, 129) n))::text,
        'HR007 headers'),
      -- {"h": "…"} is 9 bytes around its value.
      (json_build_object('kind', 'a', 'headers', json_build_object('h', repeat('v', 65527)))::text, 'none'),
      (json_build_object('kind', 'a', 'headers', json_build_object('h', repeat('v', 65528)))::text, 'HR007 headers'),
      ('{"kind": "a", "headers": {"headrace": "1", "x-headrace-y": "2", "Headrace-z": "3"}}', 'none'),
      ('{"kind": "a", "headers": {"a": "1", "headrace-tick-ms": "1"}}', 'HR007 headers'),
      ('{"kind": "a", "headers": {"headrace-": null}}', 'HR007 headers'),
      ('{"kind": "a", "payload": 1, "payload_base64": "AA=="}', 'HR007 payload_base64'),
      ('{"kind": "a", "payload_base64": "A"}', 'HR007 payload_base64'),
      ('{"kind": "a", "color": "red"}', 'HR007 color'),
      ('{"kind": "a", "Kind": "b"}', 'HR007 Kind')
    ) c(job, expected)
  loop
    v_fault := pg_temp.fault(v_case.job::jsonb);
    assert v_fault = v_case.expected, format('%s: expected %s, got %s', left(v_case.job, 100), v_case.expected, v_fault);
  end loop;
end;
$test$;

-- test: texts hold no U+0000, and say what to do
do $test$
declare
  v_field text;
  v_refusal jsonb;
begin
  foreach v_field in array array['id', 'kind', 'queue', 'partition_key', 'rate_class', 'sticky_worker', 'unique_key',
    'fingerprint', 'payload'] loop
    v_refusal := pg_temp.refusal(format($q$select from :SCHEMA.enqueue_many('[{"kind": "a", "%s": "x\u0000y"}]')$q$, v_field));
    assert v_refusal ->> 'code' = 'HR007', v_field || ': ' || v_refusal;
  end loop;
  v_refusal := pg_temp.refusal($q$select from :SCHEMA.enqueue_many('[{"kind": "a", "tags": ["\ud83d"]}]')$q$);
  assert v_refusal ->> 'code' = 'HR007', v_refusal;
end;
$test$;

-- test: a batch has 1 to 10,000 jobs and at most 64 MiB
do $test$
declare
  v_many text := 'select from :SCHEMA.enqueue_many((select json_agg(json_build_object(''kind'', ''a'')) '
    'from generate_series(1, %s)))';
  v_large text := 'select from :SCHEMA.enqueue_many((select json_agg(json_build_object(''kind'', ''a'', ''payload'', '
    'repeat(''p'', 1048574))) from generate_series(1, %s)))';
begin
  assert pg_temp.refusal('select from :SCHEMA.enqueue_many(''[]'')') ->> 'field' = 'jobs';
  assert pg_temp.refusal('select from :SCHEMA.enqueue_many(null)') ->> 'field' = 'jobs';
  assert pg_temp.refusal('select from :SCHEMA.enqueue_many(''{}'')') ->> 'field' = 'jobs';
  assert pg_temp.refusal('select from :SCHEMA.enqueue_many(''[1]'')') ->> 'field' = 'jobs';
  assert pg_temp.refusal(format(v_many, 10000)) ->> 'code' = 'none';
  assert pg_temp.refusal(format(v_many, 10001)) ->> 'field' = 'jobs';
  assert (select count(*) from :SCHEMA.job) = 10000;
  assert pg_temp.refusal(format(v_large, 65)) ->> 'field' = 'jobs';
end;
$test$;

-- test: the fault of a job in a batch says which job, and nothing is written
do $test$
declare
  v_refusal jsonb;
begin
  v_refusal := pg_temp.refusal($q$select from :SCHEMA.enqueue_many('[{"kind": "a"}, {"kind": "a", "weight": 0}]')$q$);
  assert v_refusal ->> 'code' = 'HR007' and v_refusal ->> 'field' = 'weight', v_refusal;
  assert v_refusal ->> 'reason' like '%(job 2)%', v_refusal;
  assert v_refusal ->> 'bound' = 'at least 1', v_refusal;
  assert v_refusal ->> 'message' like 'weight %', v_refusal;
  assert not exists (select from :SCHEMA.job);
  v_refusal := pg_temp.refusal($q$select from :SCHEMA.enqueue_many('[{"kind": "a"}, {"kind": "a", "weight": "x"}]')$q$);
  assert v_refusal ->> 'reason' like '%(job 2)%', v_refusal;
  assert pg_temp.refusal($q$select from :SCHEMA.enqueue_many('[{"kind": "a"}]', 'ignore')$q$) ->> 'field' = 'on_conflict';
  assert pg_temp.refusal($q$select from :SCHEMA.enqueue_many('[{"kind": "a"}]', null)$q$) ->> 'field' = 'on_conflict';
end;
$test$;

-- test: one id twice in a batch is an id conflict, replace wants a batch of one (R-23)
do $test$
declare
  v_refusal jsonb;
begin
  v_refusal := pg_temp.refusal($q$select from :SCHEMA.enqueue_many('[{"kind": "a", "id": "x"}, {"kind": "b", "id": "x"}]')$q$);
  assert v_refusal ->> 'code' = 'HR002' and v_refusal ->> 'job_id' = 'x', v_refusal;
  v_refusal := pg_temp.refusal($q$select from :SCHEMA.enqueue_many(
    '[{"kind": "a", "unique_key": "k", "unique_replace": ["payload"]}, {"kind": "b"}]')$q$);
  assert v_refusal ->> 'field' = 'unique_replace', v_refusal;
end;
$test$;

-- test: a job without a kind is refused beside good ones as it is alone
do $test$
declare
  v_bad text;
  v_refusal jsonb;
begin
  foreach v_bad in array array['{}', '{"kind": null}', '{"queue": "b"}', '{"kind": null, "tags": ["t"]}'] loop
    v_refusal := pg_temp.refusal(format('select from :SCHEMA.enqueue_many(%L::json)', '[{"kind": "a"}, ' || v_bad || ']'));
    assert v_refusal ->> 'code' = 'HR007' and v_refusal ->> 'field' = 'kind' and v_refusal ->> 'reason' like '%(job 2)',
      v_bad || ': ' || v_refusal;
  end loop;
end;
$test$;

-- test: the door for people refuses by the names it has
do $test$
declare
  v_case record;
  v_refusal jsonb;
begin
  for v_case in
    select * from (values
      ('null', 'kind'),
      ('''a'', delay => interval ''-1 second''', 'delay'),
      ('''a'', delay => interval ''0.0001 second''', 'delay'),
      ('''a'', delay => interval ''10001 years''', 'delay'),
      ('''a'', unique_key => ''k'', unique_window => interval ''-1 second''', 'unique_window'),
      ('''a'', retention => interval ''-1 second''', 'retention'),
      ('''a'', timeout => interval ''-1 second''', 'timeout'),
      ('''a'', scheduled_at => ''infinity''', 'scheduled_at'),
      ('''a'', scheduled_at => ''-infinity''', 'scheduled_at'),
      ('''a'', scheduled_at => ''1969-12-31 23:59:59Z''', 'scheduled_at'),
      ('''a'', deadline => ''infinity''', 'deadline'),
      ('''a'', weight => 0', 'weight'),
      ('''a'', max_attempts => 0', 'max_attempts'),
      ('''a'', unique_scope => ''nowhere'', unique_key => ''k''', 'unique_scope'),
      ('''a'', headers => ''[]''', 'headers'),
      ('''a'', tags => array[null]', 'tags')
    ) c(arguments, field)
  loop
    v_refusal := pg_temp.refusal('select :SCHEMA.enqueue(' || v_case.arguments || ')');
    assert v_refusal ->> 'code' = 'HR007' and v_refusal ->> 'field' = v_case.field, v_case.arguments || ': ' || v_refusal;
  end loop;
  assert not exists (select from :SCHEMA.job);
end;
$test$;
