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

-- test: the version is that of the newest migration
do $test$
begin
  assert :SCHEMA.schema_version() = (select max(version) from :SCHEMA.schema_migration) and :SCHEMA.schema_version() >= 1;
end;
$test$;

-- test: get_job knows a job by either kind of id, and nothing of an unknown one
do $test$
declare
  v_id text := pg_temp.put('{"payload": [1], "headers": {"h": 1}}');
begin
  assert (select (id, state, payload is null, headers is null, payload_bytes) = (v_id, 'available', true, true, 3)
    from :SCHEMA.get_job(v_id));
  assert (select (payload, headers) = ('[1]'::bytea, '{"h": 1}'::jsonb) from :SCHEMA.get_job(v_id, true));
  assert not exists (select from :SCHEMA.get_job('unknown')) and not exists (select from :SCHEMA.get_job('j00000000ffffffff'));
  assert pg_temp.refusal('select from :SCHEMA.get_job('''')') ->> 'field' = 'id';
  assert pg_temp.refusal('select from :SCHEMA.get_job(null)') ->> 'field' = 'id';
  assert pg_temp.refusal('select from :SCHEMA.get_job(repeat(''x'', 256))') ->> 'field' = 'id';
end;
$test$;

-- test: counts are per state and per queue
do $test$
begin
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'c' || n % 2, 'pending', n > 6))
    from generate_series(1, 10) n));
  perform :SCHEMA.admit('w', array['c0'], 2);
  assert (select jsonb_object_agg(state, jobs) from :SCHEMA.counts('c0') where jobs > 0)
    = '{"running": 2, "available": 1, "pending": 2}';
  assert (select sum(jobs) from :SCHEMA.counts()) = 10 and not (select bool_or(approximate) from :SCHEMA.counts());
  assert (select count(*) from :SCHEMA.counts('nowhere')) = 10 and (select sum(jobs) from :SCHEMA.counts('nowhere')) = 0;
end;
$test$;

-- test: history is listed newest first, in pages of at most 200
do $test$
declare
  v_claim record;
begin
  perform pg_temp.put('{"queue": "h", "id": "h"}');
  for v_round in 1..3 loop
    perform :SCHEMA.promote_due();
    select * into v_claim from :SCHEMA.admit('w', array['h']);
    perform :SCHEMA.ack('h', v_claim.lease_id, v_claim.fence, 'retry', 'e' || v_round, 0);
    perform pg_sleep(0.002);
  end loop;
  assert array(select error from :SCHEMA.list_attempts('h')) = array['e3', 'e2', 'e1'];
  assert array(select error from :SCHEMA.list_attempts('h', 1)) = array['e3'];
  assert not exists (select from :SCHEMA.list_attempts('unknown'));
  assert pg_temp.refusal('select from :SCHEMA.list_attempts(''h'', 0)') ->> 'field' = 'max_rows';
  assert pg_temp.refusal('select from :SCHEMA.list_attempts(''h'', 201)') ->> 'field' = 'max_rows';
  assert pg_temp.refusal('select from :SCHEMA.list_attempts(''h'', 200)') ->> 'code' = 'none';
  assert pg_temp.refusal('select from :SCHEMA.list_attempts(null)') ->> 'field' = 'job_id';
end;
$test$;

-- test: a history that is longer than one answer says where it goes on, and nothing is lost or told twice
do $test$
declare
  v_start bigint := 1680000000000;
  v_next bigint;
  v_row record;
  v_buckets bigint;
  v_refusal jsonb;
begin
  -- One queue, one minute more than an answer has buckets.
  insert into :SCHEMA.queue_minute (queue, minute_ms, arrived) select 'long', v_start + 60000 * n, 1 from generate_series(0, 10000) n;
  select count(*) as buckets, sum(arrived) as arrived, max(next_ms) as next_ms, count(next_ms) as told into v_row
  from :SCHEMA.history('long', 0);
  assert (v_row.buckets, v_row.arrived, v_row.next_ms, v_row.told) = (10000, 10000, v_start + 60000 * 10000, 1), v_row;
  select count(*) as buckets, sum(arrived) as arrived, max(next_ms) as next_ms into v_row from :SCHEMA.history('long', v_row.next_ms);
  assert v_row.buckets = 1 and v_row.arrived = 1 and v_row.next_ms is null, v_row;
  assert not exists (select from :SCHEMA.history('long', 0, 120000) where next_ms is not null);
  -- Exactly as many.
  delete from :SCHEMA.queue_minute where minute_ms = v_start;
  assert (select count(*) = 10000 and count(next_ms) = 0 from :SCHEMA.history('long', 0));
  -- Fifty queues: more minutes than one call reads.
  delete from :SCHEMA.queue_minute;
  insert into :SCHEMA.queue_minute (queue, minute_ms, arrived, refused)
  select 'q' || q, v_start + 60000 * n, 1, '{"paused": 1}' from generate_series(1, 50) q, generate_series(0, 2005) n;
  for v_bucket in 1..5 by 4 loop
    v_next := 0;
    v_buckets := 0;
    loop
      select count(*) as buckets, sum(arrived) as arrived, max(bucket_start_ms) as newest, sum((refused ->> 'paused')::bigint) as refused
      into v_row from :SCHEMA.history(null, v_next, 60000 * v_bucket);
      v_buckets := v_buckets + v_row.arrived;
      assert v_row.refused = v_row.arrived, v_row;
      select max(next_ms) into v_next from :SCHEMA.history(null, v_next, 60000 * v_bucket);
      exit when v_next is null;
      assert v_next = v_start + 60000 * 2000 and v_row.newest < v_next, v_next;
    end loop;
    assert v_buckets = 50 * 2006, v_buckets;
  end loop;
  assert (select sum(arrived) = 2006 and count(next_ms) = 0 from :SCHEMA.history('q7', 0, 31557600000));
  v_refusal := pg_temp.refusal('select from :SCHEMA.history(null, 0, 31557600000)');
  assert v_refusal ->> 'code' = 'HR007' and v_refusal ->> 'field' = 'bucket_ms', v_refusal;
end;
$test$;

-- test: the invariants see damage
-- invariants: off
do $test$
begin
  set local session_replication_role = replica;
  perform :SCHEMA.enqueue_many((select json_agg(json_build_object('kind', 'a', 'queue', 'v', 'partition_key', n::text)) from generate_series(1, 3) n));
  perform :SCHEMA.admit('w', array['v'], 1);
  assert not exists (select from :SCHEMA.verify_invariants());
  delete from :SCHEMA.lease;
  assert exists (select from :SCHEMA.verify_invariants() where invariant = 'a running job has a lease');
  delete from :SCHEMA.job where state = 'running';
  assert (select detail from :SCHEMA.verify_invariants()) = '3 counted, 2 there';
  update :SCHEMA.tally set depth = depth - 1 where no = (select max(no) from :SCHEMA.tally where depth > 0);
  delete from :SCHEMA.lane where partition_key = (select min(partition_key) from :SCHEMA.job);
  assert (select count(*) from :SCHEMA.verify_invariants() where invariant = 'a job in line has a lane') = 1;
  update :SCHEMA.lane set from_ms = 9000000000000;
  assert exists (select from :SCHEMA.verify_invariants() where invariant = 'the gate looks at every job in line');
end;
$test$;
