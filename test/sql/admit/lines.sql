create function pg_temp.put(job jsonb) returns text language sql as $$
  select id from :SCHEMA.enqueue_many(json_build_array(jsonb_build_object('kind', 'task', 'queue', 'q') || job));
$$;

-- test: lines whose hashes are the same are kept apart
alter table :SCHEMA.job alter line drop expression, alter line set default 0;
alter table :SCHEMA.lane alter line drop expression, alter line set default 0;
do $test$
declare
  v_ids text[];
begin
  perform :SCHEMA.upsert_rate_class('slow', 0);
  perform pg_temp.put('{"id": "a1", "partition_key": "a"}');
  perform pg_temp.put('{"id": "b1", "partition_key": "b"}');
  perform pg_temp.put('{"id": "b2", "partition_key": "b"}');
  perform pg_temp.put('{"id": "s1", "partition_key": "b", "rate_class": "slow"}');
  perform pg_temp.put('{"id": "w1", "partition_key": "b", "sticky_worker": "other"}');
  perform pg_temp.put('{"id": "p1", "partition_key": "b", "priority": 1}');
  assert (select count(distinct line) from :SCHEMA.job) = 1 and (select count(*) from :SCHEMA.job) = 6;
  assert (select waiting from :SCHEMA.partitions('q') where partition_key = 'a') = 1;
  assert (select waiting from :SCHEMA.partitions('q') where partition_key = 'b') = 5;
  assert (select waiting from :SCHEMA.rate_classes() where name = 'slow') = 1;
  assert (select position_in_line from :SCHEMA.explain_admission('b2')) = 2;
  assert (select position_in_line from :SCHEMA.explain_admission('p1')) = 1;
  assert (select held_back from :SCHEMA.partitions('q') where partition_key = 'b') is null;

  perform :SCHEMA.upsert_concurrency_limit('one', 'q', 1);
  v_ids := array(select id from :SCHEMA.admit('w', array['q'], 10));
  assert v_ids = '{p1,a1}', v_ids;
  assert (select keys from :SCHEMA.lease where partition_key = 'a') = array[:SCHEMA.job_key('a1')];
  perform :SCHEMA.delete_concurrency_limit('one');
  v_ids := array(select id from :SCHEMA.admit('w', array['q'], 10));
  assert v_ids = '{b1,b2}', v_ids;
  assert not exists (select from :SCHEMA.admit('w', array['q'], 10));
  v_ids := array(select id from :SCHEMA.admit('other', array['q'], 10));
  assert v_ids = '{w1}', v_ids;
  assert (select state from :SCHEMA.get_job('s1')) = 'available';
end;
$test$;

-- test: a job's line is that of its lane, and follows it
do $test$
declare
  v_line bigint;
begin
  perform pg_temp.put('{"id": "j", "partition_key": "p", "rate_classes": ["x", "y"], "priority": -3, "unique_key": "u"}');
  v_line := (select line from :SCHEMA.job where id = 'j');
  assert v_line = (select line from :SCHEMA.lane), to_jsonb((select l from :SCHEMA.lane l));
  perform pg_temp.put('{"priority": 4, "unique_key": "u", "unique_replace": ["priority"]}');
  assert (select line from :SCHEMA.job where id = 'j') <> v_line;
  assert (select line from :SCHEMA.job where id = 'j') = (select line from :SCHEMA.lane where priority = 4);
end;
$test$;

-- test: a call that sees every line moves none to the back, one that does not moves those it asked
do $test$
declare
  v_ids text[];
begin
  for v_at in 1..64 loop
    perform pg_temp.put(jsonb_build_object('partition_key', 'p' || v_at));
    perform pg_temp.put(jsonb_build_object('partition_key', 'p' || v_at));
  end loop;
  assert not (:SCHEMA.lanes_of('{q}', 'w', 64)).crowded;
  assert (select count(*) from :SCHEMA.admit('w', array['q'], 64)) = 64;
  assert not exists (select from :SCHEMA.lane where served_at_ms <> 0), 'all had their share';
  perform pg_temp.put('{"partition_key": "p65"}');
  perform pg_temp.put('{"partition_key": "p66"}');
  assert (:SCHEMA.lanes_of('{q}', 'w', 64)).crowded;
  assert (:SCHEMA.lanes_of('{q,other}', 'w', 64)).crowded;
  assert not (:SCHEMA.lanes_of('{q,other}', 'w', 67)).crowded;
  v_ids := array(select partition_key from :SCHEMA.admit('w', array['q'], 64));
  assert cardinality(v_ids) = 64;
  assert (select count(*) from :SCHEMA.lane where served_at_ms <> 0) = 64;
  v_ids := v_ids || array(select partition_key from :SCHEMA.admit('w', array['q'], 64));
  assert v_ids @> '{p65,p66}' and cardinality(v_ids) = 66, v_ids;
end;
$test$;

-- test: one after the other, every partition has its turn before any has a second
do $test$
declare
  v_served text[] := '{}';
begin
  for v_job in 1..3 loop
    for v_at in 1..40 loop
      perform pg_temp.put(jsonb_build_object('partition_key', 'p' || v_at));
    end loop;
  end loop;
  for v_call in 1..40 loop
    v_served := v_served || (select partition_key from :SCHEMA.admit('w', array['q'], 1));
  end loop;
  assert (select count(distinct s) from unnest(v_served) s) = 40, v_served;
end;
$test$;

-- test: a line that was empty and comes back takes its turn like the others, though its first row is being retired
do $test$
declare
  v_served text[] := '{}';
begin
  perform pg_temp.put('{"partition_key": "back"}');
  for v_job in 1..3 loop
    for v_at in 1..64 loop
      perform pg_temp.put(jsonb_build_object('partition_key', 'p' || v_at));
    end loop;
  end loop;
  perform :SCHEMA.admit('w', array['q'], 64);
  perform :SCHEMA.admit('w', array['q'], 64);
  assert (select dying from :SCHEMA.lane where partition_key = 'back');
  for v_job in 1..10 loop
    perform pg_temp.put('{"partition_key": "back"}');
  end loop;
  for v_call in 1..5 loop
    v_served := v_served || (select partition_key from :SCHEMA.admit('w', array['q'], 1));
  end loop;
  assert (select count(*) from unnest(v_served) s where s = 'back') = 1, v_served;
  assert (select count(*) from :SCHEMA.lane where partition_key = 'back') = 2;
end;
$test$;

-- test: lines that run dry in a call leave what they would have had to the others evenly
do $test$
declare
  v_served text[] := '{}';
begin
  perform pg_temp.put('{"partition_key": "dry1"}');
  perform pg_temp.put('{"partition_key": "dry2"}');
  for v_job in 1..10 loop
    perform pg_temp.put('{"partition_key": "a"}');
    perform pg_temp.put('{"partition_key": "b"}');
  end loop;
  assert (select count(distinct partition_key) from :SCHEMA.admit('w', array['q'], 4)) = 4;
  for v_call in 1..4 loop
    v_served := v_served || array(select partition_key from :SCHEMA.admit('w', array['q'], 3));
  end loop;
  assert cardinality(v_served) = 12 and (select count(*) from unnest(v_served) s where s = 'a') = 6, v_served;
end;
$test$;

-- test: a line that is held back in the midst of a call gives nobody turn after turn
do $test$
declare
  v_served text[] := '{}';
begin
  perform :SCHEMA.upsert_rate_class('none', 0);
  perform pg_temp.put('{"partition_key": "held", "rate_class": "none"}');
  for v_job in 1..12 loop
    for v_at in 1..10 loop
      perform pg_temp.put(jsonb_build_object('partition_key', 'p' || v_at));
    end loop;
  end loop;
  for v_call in 1..20 loop
    perform pg_sleep(0.002);
    v_served := v_served || array(select partition_key from :SCHEMA.admit('w', array['q'], 3));
  end loop;
  assert (select count(distinct s) from unnest(v_served[:15]) s) = 10, v_served;
  assert cardinality(v_served) = 60 and 5 <= all (
    select count(*) from unnest(v_served) s group by s), v_served;
end;
$test$;

-- test: a turn that is longer than the capacity goes on in the next call
do $test$
declare
  v_served text[] := '{}';
begin
  for v_job in 1..5 loop
    perform pg_temp.put('{"partition_key": "a"}');
    perform pg_temp.put('{"partition_key": "b"}');
  end loop;
  for v_call in 1..4 loop
    v_served := v_served || array(select partition_key from :SCHEMA.admit('w', array['q'], 1, quantum => 3));
  end loop;
  assert v_served = '{a,a,a,b}', v_served;
  v_served := array(select partition_key from :SCHEMA.admit('w', array['q'], 4, quantum => 3));
  assert v_served = '{b,b,a,a}', v_served;
end;
$test$;
