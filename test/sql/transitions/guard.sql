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
-- A job put into a state by hand, past the guard, as damage would.
create function pg_temp.plant(state text, id text) returns void language plpgsql as $$
begin
  perform :SCHEMA.set_transition_guard(false);
  insert into :SCHEMA.lease (lease_id, worker, claimed_at_ms, expires_at_ms, keys) values ('l', 'w', 0, 9e15, '{}');
  perform pg_temp.put(jsonb_build_object('id', id, 'queue', id, 'pending', true));
  perform pg_temp.move(id, state);
  perform :SCHEMA.set_transition_guard(true);
end;
$$;
create function pg_temp.move(id text, state text) returns void language plpgsql as $$
#variable_conflict use_variable
begin
  if state = 'deleted' then
    delete from :SCHEMA.job j where j.id = move.id;
    return;
  end if;
  update :SCHEMA.job j
  set state = cast(move.state as :SCHEMA.job_state),
    lease_no = case when move.state = 'running' then (select max(l.lease_no) from :SCHEMA.lease l) end,
    finalized_at_ms = case when move.state in ('completed', 'archived', 'cancelled', 'quarantined', 'undecodable') then 1 end
  where j.id = move.id;
end;
$$;

-- test: whatever is not in the table is refused, and says so; what is, passes
-- invariants: off
do $test$
declare
  v_states text[] := array(select e::text from unnest(enum_range(cast(null as :SCHEMA.job_state))) e);
  v_from text;
  v_to text;
  v_refusal jsonb;
  v_refused integer := 0;
begin
  foreach v_from in array v_states loop
    foreach v_to in array v_states || 'deleted'::text loop
      continue when v_from = v_to;
      perform pg_temp.plant(v_from, v_from || '>' || v_to);
      v_refusal := pg_temp.refusal(format('select pg_temp.move(%L, %L)', v_from || '>' || v_to, v_to));
      if exists (select from :SCHEMA.transition t where t.from_state = v_from and t.to_state = v_to) then
        assert v_refusal ->> 'code' = 'none', v_from || ' -> ' || v_to || ': ' || v_refusal;
      else
        v_refused := v_refused + 1;
        assert v_refusal ->> 'code' = 'HR009' and v_refusal ->> 'job_id' = v_from || '>' || v_to and v_refusal ->> 'from' = v_from
          and v_refusal ->> 'to' = v_to and v_refusal ? 'event', v_from || ' -> ' || v_to || ': ' || v_refusal;
      end if;
    end loop;
  end loop;
  assert v_refused = 100 - (select count(distinct (from_state, to_state)) from :SCHEMA.transition), v_refused;
end;
$test$;

-- test: a job is born pending, scheduled or available
do $test$
declare
  v_state text;
  v_refusal jsonb;
begin
  insert into :SCHEMA.lease (lease_id, worker, claimed_at_ms, expires_at_ms, keys) values ('l', 'w', 0, 9e15, '{}');
  foreach v_state in array array['running', 'retryable', 'completed', 'archived', 'cancelled', 'quarantined', 'undecodable'] loop
    v_refusal := pg_temp.refusal(format('insert into :SCHEMA.job (state, enqueued_at_ms, scheduled_at_ms, kind, payload, lease_no, '
      'finalized_at_ms) values (%L, 0, 0, ''a'', '''', case when %1$L = ''running'' then 1 end, '
      'case when %1$L not in (''running'', ''retryable'') then 1 end)', v_state));
    assert v_refusal ->> 'code' = 'HR009' and v_refusal ->> 'from' = 'new', v_state || ': ' || v_refusal;
  end loop;
end;
$test$;

-- test: the table keeps running and leased, finished and dated together, guard or not
do $test$
begin
  perform :SCHEMA.set_transition_guard(false);
  perform pg_temp.put('{"id": "x", "pending": true}');
  assert pg_temp.refusal('update :SCHEMA.job set state = ''running''') ->> 'code' = '23514';
  assert pg_temp.refusal('update :SCHEMA.job set state = ''completed''') ->> 'code' = '23514';
  assert pg_temp.refusal('update :SCHEMA.job set lease_no = 1') ->> 'code' = '23514';
  assert pg_temp.refusal('update :SCHEMA.job set finalized_at_ms = 1') ->> 'code' = '23514';
end;
$test$;

-- test: the guard is off until it is switched on
-- invariants: off
do $test$
begin
  perform :SCHEMA.set_transition_guard(false);
  perform pg_temp.put('{"id": "x", "pending": true}');
  perform pg_temp.move('x', 'completed');
  assert pg_temp.state('x') = 'completed';
  perform :SCHEMA.set_transition_guard(true);
  assert pg_temp.refusal('select pg_temp.move(''x'', ''pending'')') ->> 'code' = 'HR009';
  assert (select tgenabled from pg_trigger where tgname = 'job_transition' and tgrelid = ':SCHEMA.job'::regclass) <> 'D';
end;
$test$;
