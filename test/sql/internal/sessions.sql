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

-- test: nothing depends on the session's settings or on what stands in its path (R-92)
create schema other;
create table other.job (x integer);
create table other.lease (x integer);
create function other.now_ms() returns bigint language sql as 'select -1::bigint';
create function other.floor(numeric) returns numeric language sql as 'select -1::numeric';
create function other.lower(text) returns text language sql as 'select ''wrong''';
create temp table job (x integer);
create temp table lease (x integer);
create temp table pg_class (x integer);
set local search_path = other, pg_temp, pg_catalog;
set local timezone = 'Asia/Kathmandu';
set local datestyle = 'German';
set local intervalstyle = 'sql_standard';
set local bytea_output = 'escape';
set local extra_float_digits = -10;
set local enable_indexscan = off;
set local default_transaction_read_only = on;
set local transform_null_equals = on;
do $test$
declare
  v_now bigint := :SCHEMA.now_ms();
  v_id text;
  v_claim record;
  v_job record;
begin
  assert v_now > 1600000000000, v_now;
  v_id := :SCHEMA.enqueue('task', '{"a": [1]}', queue => 'q', delay => interval '0.01 s', retention => interval '2 days',
    deadline => '31.12.2099 20:00:00Z', headers => '{"t": "x"}', tags => array['b', 'a']);
  select * into v_job from :SCHEMA.get_job(v_id, true);
  assert v_job.scheduled_at_ms - v_now between 10 and 20000 and v_job.retention_ms = 172800000
    and v_job.deadline_ms = 4102430400000 and v_job.payload = convert_to('{"a": [1]}', 'UTF8'), v_job.deadline_ms;
  perform pg_catalog.pg_sleep(0.02);
  assert :SCHEMA.promote_due() = 1;
  select * into v_claim from :SCHEMA.admit('w', array['q'], 1, 5000);
  assert v_claim.id = v_id and v_claim.expires_at_ms - :SCHEMA.now_ms() between 1 and 5000;
  perform :SCHEMA.checkpoint(v_id, v_claim.lease_id, v_claim.fence, '{"in_progress": "s"}', '\000\001'::bytea);
  perform :SCHEMA.renew(pg_catalog.json_build_array(pg_catalog.json_build_object('job_id', v_id, 'lease_id', v_claim.lease_id,
    'fence', 1)), 60000);
  update :SCHEMA.lease set expires_at_ms = 0;
  assert (select id from :SCHEMA.reclaim_expired()) = v_id;
  perform :SCHEMA.run_duties('h');
  perform :SCHEMA.operator_cancel(v_id);
  assert (select j.state from :SCHEMA.get_job(v_id) j) = 'cancelled';
end;
$test$;

-- test: instants are those of the call, not of the transaction (R-93)
do $test$
declare
  v_begun bigint := extract(epoch from now()) * 1000;
  v_now bigint;
  v_id text;
  v_claim record;
begin
  perform pg_sleep(0.3);
  v_now := :SCHEMA.now_ms();
  assert v_now >= v_begun + 300;
  v_id := :SCHEMA.enqueue('task', queue => 'q', delay => interval '10 s');
  assert (select scheduled_at_ms from :SCHEMA.get_job(v_id)) >= v_now + 10000;
  v_id := :SCHEMA.enqueue('task', queue => 'q');
  select * into v_claim from :SCHEMA.admit('w', array['q'], 1, 200);
  assert v_claim.id = v_id and v_claim.expires_at_ms >= v_now + 200, 'no lease is born expired';
  perform pg_sleep(0.1);
  perform :SCHEMA.renew(json_build_array(json_build_object('job_id', v_id, 'lease_id', v_claim.lease_id, 'fence', 1)), 300);
  assert (select lease_expires_at_ms from :SCHEMA.get_job(v_id)) >= v_now + 400;
  assert :SCHEMA.now_ms() > v_now;
end;
$test$;

-- test: any text up to 255 bytes is a name, kept byte for byte and apart from similar ones (R-54)
do $test$
declare
  c_names text[] := array['image-worker-queue', 'webapp/user.created', 'a"b''c;drop table x;--', '$$', '%I %s', E'\\', '🦁',
    E'\t', ' leading', 'NULL', 'null', 'default ', 'Default', '{}', '[]', 'a,b', '"', repeat('é', 127), repeat('n', 255)];
  v_name text;
  v_id text;
  v_claim record;
begin
  foreach v_name in array c_names loop
    perform pg_temp.put(jsonb_build_object('queue', v_name, 'partition_key', v_name, 'rate_class', v_name, 'id', v_name,
      'fingerprint', v_name, 'unique_key', v_name, 'periodic_schedule_id', v_name, 'periodic_tick_ms', 1, 'sticky_worker', v_name,
      'retention_ms', 60000));
  end loop;
  foreach v_name in array c_names loop
    select * into v_claim from :SCHEMA.admit(v_name, array[v_name], 100, 60000, lease_id => v_name);
    assert v_claim.id = v_name and v_claim.queue = v_name and v_claim.partition_key = v_name
      and v_claim.rate_classes = array[v_name] and v_claim.lease_id = v_name, v_name || ': ' || to_jsonb(v_claim);
    assert (select (claimed_by, fingerprint, sticky_worker, periodic_schedule_id) = (v_name, v_name, v_name, v_name)
      from :SCHEMA.get_job(v_name)), v_name;
    assert not exists (select from :SCHEMA.admit(v_name, array[v_name], 100)), v_name;
    assert :SCHEMA.claim_duty(v_name, v_name, 1000) and :SCHEMA.claim_effect(v_name), v_name;
    assert :SCHEMA.ack(v_name, v_claim.lease_id, v_claim.fence) = 'completed', v_name;
    assert (select jobs from :SCHEMA.counts(v_name) where state = 'completed') = 1, v_name;
  end loop;
  assert (select count(*) from :SCHEMA.job) = cardinality(c_names);
end;
$test$;
