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

-- test: an error is a code, a message and its fields
do $test$
declare
  v_refusal jsonb;
begin
  v_refusal := pg_temp.refusal($q$select :SCHEMA.raise_invalid('f', 'is bad', '1..2')$q$);
  assert v_refusal = '{"code": "HR007", "message": "f is bad (1..2)", "field": "f", "reason": "is bad", "bound": "1..2"}', v_refusal;
  v_refusal := pg_temp.refusal($q$select :SCHEMA.raise_rejected('j')$q$);
  assert v_refusal - 'message' = '{"code": "HR005", "job_id": "j"}', v_refusal;
end;
$test$;

-- test: the wait doubles to an hour and stays there
do $test$
begin
  assert array(select :SCHEMA.backoff_ms(n) from unnest(array[-1, 0, 1, 2, 3, 11, 12, 20, 21, 63, 64, 305, 2147483647]) n)
    = array[1000, 1000, 2000, 4000, 8000, 2048000, 3600000, 3600000, 3600000, 3600000, 3600000, 3600000, 3600000]::bigint[];
end;
$test$;

-- test: texts are cut on whole characters
do $test$
begin
  assert :SCHEMA.cut_text('abc', 3) = 'abc' and :SCHEMA.cut_text('abcd', 3) = 'abc' and :SCHEMA.cut_text(null, 3) is null;
  assert :SCHEMA.cut_text('aé', 2) = 'a' and :SCHEMA.cut_text('aé', 3) = 'aé';
  assert :SCHEMA.cut_text('🦁🦁', 7) = '🦁' and :SCHEMA.cut_text('🦁', 3) = '';
end;
$test$;

-- test: logs are cut to a hundred entries of two KiB
do $test$
begin
  assert :SCHEMA.cut_logs(null) is null and :SCHEMA.cut_logs('[]') is null and :SCHEMA.cut_logs('null') is null;
  assert :SCHEMA.cut_logs('"one"') = '["one"]';
  assert :SCHEMA.cut_logs('{"a": 1}') = '[{"a": 1}]';
  assert jsonb_array_length(:SCHEMA.cut_logs((select jsonb_agg(n) from generate_series(1, 101) n))) = 100;
  assert :SCHEMA.cut_logs((select jsonb_agg(n) from generate_series(1, 101) n)) ->> 0 = '2';
  assert octet_length(:SCHEMA.cut_logs(jsonb_build_array(jsonb_build_object('k', repeat('v', 5000)))) ->> 0) = 2048;
end;
$test$;

-- test: intervals and instants in milliseconds
do $test$
begin
  assert :SCHEMA.interval_ms('f', null) is null and :SCHEMA.interval_ms('f', '0') = 0 and :SCHEMA.interval_ms('f', '1.5 s') = 1500;
  assert :SCHEMA.interval_ms('f', '1 day 2 hours') = 93600000 and :SCHEMA.interval_ms('f', '1 ms') = 1;
  assert pg_temp.refusal($q$select :SCHEMA.interval_ms('f', '-1 ms')$q$) ->> 'field' = 'f';
  assert pg_temp.refusal($q$select :SCHEMA.interval_ms('f', '0.9 ms')$q$) ->> 'field' = 'f';
  assert :SCHEMA.instant_ms('f', null) is null and :SCHEMA.instant_ms('f', '1970-01-01Z') = 0;
  assert :SCHEMA.instant_ms('f', '2100-01-01 00:00:00.0019Z') = 4102444800001;
  assert pg_temp.refusal($q$select :SCHEMA.instant_ms('f', 'infinity')$q$) ->> 'field' = 'f';
end;
$test$;

-- test: ids derive from keys and back
do $test$
declare
  v_id text := pg_temp.put('{}');
  v_key bigint := (select key from :SCHEMA.job);
begin
  assert :SCHEMA.job_id(v_key, null) = v_id and :SCHEMA.job_key(v_id) = v_key;
  assert :SCHEMA.job_id(1, 'own') = 'own';
  assert :SCHEMA.job_id(9223372036854775807, null) = 'j7fffffffffffffff';
  perform pg_temp.put('{"id": "own"}');
  assert :SCHEMA.job_key('own') = (select max(key) from :SCHEMA.job);
  -- A job with an id of its own is not found by the number behind it.
  assert :SCHEMA.job_key(:SCHEMA.job_id((select max(key) from :SCHEMA.job), null)) is null;
  assert :SCHEMA.job_key('') is null and :SCHEMA.job_key('jffffffffffffffff') is null and :SCHEMA.job_key(null) is null;
end;
$test$;

-- test: a set of rate classes has a key of its own
do $test$
declare
  v_set text[];
begin
  assert :SCHEMA.class_key(null) = '' and :SCHEMA.class_names('') = '{}';
  foreach v_set slice 1 in array array[array['a', 'b'], array['["a"', '"b"]'], array['=', '"'], array['a,b', 'c']] loop
    assert :SCHEMA.class_names(:SCHEMA.class_key(v_set)) = v_set, v_set::text;
  end loop;
  assert :SCHEMA.class_names(:SCHEMA.class_key(array['["a", "b"]'])) = array['["a", "b"]'];
  assert :SCHEMA.class_key(array['["a", "b"]']) <> :SCHEMA.class_key(array['a', 'b']);
end;
$test$;

-- test: the clock moves within a transaction, and by the row of a test
do $test$
declare
  v_first bigint := :SCHEMA.now_ms();
begin
  assert abs(v_first - extract(epoch from clock_timestamp()) * 1000) < 60000;
  perform pg_sleep(0.01);
  assert :SCHEMA.now_ms() > v_first;
  insert into :SCHEMA.test_clock (offset_ms) values (3600000);
  assert :SCHEMA.now_ms() - v_first between 3600000 and 3700000;
  assert pg_temp.refusal('insert into :SCHEMA.test_clock (only_row, offset_ms) values (true, 1)') ->> 'code' = '23505';
end;
$test$;

-- test: time moves only in a schema that was declared one for tests while it was new
do $test$
declare
  v_before bigint := :SCHEMA.now_ms();
begin
  assert pg_temp.refusal('select :SCHEMA.move_test_clock(1)') ->> 'code' = 'HR007';
  assert :SCHEMA.now_ms() < v_before + 60000;
  perform :SCHEMA.use_test_clock();
  perform :SCHEMA.use_test_clock();
  assert :SCHEMA.move_test_clock(-86400000) < v_before - 80000000, 'new, so back is fine';
  perform :SCHEMA.move_test_clock(86400000 + 3600000);
  assert :SCHEMA.move_test_clock(0) >= v_before + 3600000 and :SCHEMA.now_ms() < v_before + 3660000;
  assert pg_temp.refusal('select :SCHEMA.move_test_clock(null)') ->> 'code' = 'HR007';
  assert pg_temp.refusal('select :SCHEMA.move_test_clock(253402300799999)') ->> 'code' = 'HR007', 'beyond the year 9999';
  assert pg_temp.refusal('select :SCHEMA.move_test_clock(-253402300799999)') ->> 'code' = 'HR007', 'before 1970';
  perform :SCHEMA.enqueue('a');
  assert pg_temp.refusal('select :SCHEMA.move_test_clock(-1)') ->> 'message' like '%back%', 'jobs remember the time';
  assert :SCHEMA.move_test_clock(1000) >= v_before + 3601000;
end;
$test$;

-- test: a schema that has been worked with can't become one for tests
do $test$
begin
  perform :SCHEMA.enqueue('a');
  assert pg_temp.refusal('select :SCHEMA.use_test_clock()') ->> 'code' = 'HR007';
  assert not exists (select from :SCHEMA.test_clock);
end;
$test$;

-- test: neither can one that only has duties or workers
do $test$
begin
  perform :SCHEMA.claim_duty('janitor', 'me', 1000);
  assert pg_temp.refusal('select :SCHEMA.use_test_clock()') ->> 'code' = 'HR007';
  perform :SCHEMA.release_duty('janitor', 'me');
  assert pg_temp.refusal('select :SCHEMA.use_test_clock()') ->> 'code' = 'HR007', 'a duty that was given up';
end;
$test$;

-- test: a channel fits and belongs to the install
do $test$
begin
  assert octet_length(:SCHEMA.channel()) <= 63 and :SCHEMA.channel() ~ '^headrace_[0-9a-f]{32}$', :SCHEMA.channel();
end;
$test$;

-- test: counts of refusals add up
do $test$
begin
  assert :SCHEMA.sum_counts('[{"a": 1, "b": 2}, {"a": 3}]') = '{"a": 4, "b": 2}';
  assert :SCHEMA.sum_counts('[]') = '{}' and :SCHEMA.sum_counts(null) = '{}';
end;
$test$;
