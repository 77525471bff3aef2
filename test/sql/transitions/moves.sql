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

-- Every move is written down, so that a test knows that its event made the move, and no other did.
create table pg_temp.moves (id text, from_state text, to_state text);
create function public.note_move() returns trigger language plpgsql as $$
declare
  v_to text := case when tg_op = 'DELETE' then 'deleted' else new.state::text end;
begin
  if v_to <> old.state::text then
    insert into pg_temp.moves values (old.id, old.state, v_to);
  end if;
  return null;
end;
$$;
create trigger note_move after update or delete on :SCHEMA.job for each row execute function public.note_move();

create table pg_temp.held (id text, lease_id text, fence bigint);
create function pg_temp.claim(queue text) returns void language sql as $$
  insert into pg_temp.held select id, lease_id, fence from :SCHEMA.admit('w', array[queue], 1, 60000);
$$;

-- Brings a job called x, in a queue x, into a state by legal moves. Its unique key is x, too.
create function pg_temp.make(state text, job jsonb) returns void language plpgsql as $$
begin
  job := '{"id": "x", "queue": "x", "unique_key": "x", "retention_ms": 86400000, "payload": "x"}' || job;
  if state = 'scheduled' then
    job := job || '{"delay_ms": 3600000}';
  elsif state = 'pending' then
    job := job || '{"pending": true}';
  end if;
  perform pg_temp.put(jsonb_strip_nulls(job));
  if state in ('running', 'retryable', 'completed', 'archived', 'undecodable') then
    perform pg_temp.claim('x');
  end if;
  if state in ('retryable', 'completed', 'archived', 'undecodable') then
    perform :SCHEMA.ack(h.id, h.lease_id, h.fence, case state when 'retryable' then 'retry' when 'completed' then 'success'
      when 'archived' then 'skip' else 'undecodable' end, delay_ms => case state when 'retryable' then 3600000 end)
    from pg_temp.held h;
  elsif state = 'cancelled' then
    perform :SCHEMA.operator_cancel('x');
  elsif state = 'quarantined' then
    for v_crash in 1..3 loop
      perform pg_temp.claim('x');
      perform pg_temp.later(120000);
      perform :SCHEMA.reclaim_expired();
      perform pg_temp.later(120000);
      perform :SCHEMA.promote_due();
    end loop;
  end if;
  truncate pg_temp.moves;
end;
$$;

-- Makes the job, does something, and looks whether it took exactly this move.
create function pg_temp.takes(from_state text, to_state text, act text, job jsonb default '{}') returns void
language plpgsql as $$
declare
  v_moves jsonb;
begin
  perform pg_temp.make(from_state, job);
  assert pg_temp.state('x') = from_state, 'made ' || coalesce(pg_temp.state('x'), 'nothing');
  execute act;
  select jsonb_agg(array[m.from_state, m.to_state]) into v_moves from pg_temp.moves m where m.id = 'x';
  assert v_moves = jsonb_build_array(array[from_state, to_state]), v_moves;
  assert coalesce(pg_temp.state('x'), 'deleted') = to_state, pg_temp.state('x');
end;
$$;
create function pg_temp.ack(outcome text, delay_ms bigint default null) returns void language sql as $$
  select :SCHEMA.ack(h.id, h.lease_id, h.fence, outcome, delay_ms => ack.delay_ms) from pg_temp.held h;
$$;
create function pg_temp.quarantine() returns void language sql as $$
  insert into :SCHEMA.quarantine (fingerprint, kind, crash_count, quarantined_at_ms, reason)
  values (:SCHEMA.fingerprint('task', '"x"'), 'task', 3, 0, 'test');
  select :SCHEMA.quarantine_sweep();
$$;
-- Another job of the queue runs, or waits, under a ceiling of one.
create function pg_temp.ceiling(on_saturated text) returns void language sql as $$
  select :SCHEMA.upsert_concurrency_limit('c', 'x', 1, on_saturated);
$$;

-- test: transition pending -> available by operator_promote
select pg_temp.takes('pending', 'available', $act$
  select :SCHEMA.promote_job('x')
$act$);

-- test: transition scheduled -> available by schedule_due
select pg_temp.takes('scheduled', 'available', $act$
  select pg_temp.later(3600001); select :SCHEMA.promote_due()
$act$);

-- test: transition retryable -> available by backoff_due
select pg_temp.takes('retryable', 'available', $act$
  select pg_temp.later(3600001); select :SCHEMA.promote_due()
$act$);

-- test: transition available -> running by admitted
select pg_temp.takes('available', 'running', $act$
  select :SCHEMA.admit('w', array['x'])
$act$);

-- test: transition available -> scheduled by debounced
select pg_temp.takes('available', 'scheduled', $act$
  select pg_temp.put('{"unique_key": "x", "payload": 2, "unique_debounce_ms": 1000}')
$act$);

-- test: transition retryable -> scheduled by debounced
select pg_temp.takes('retryable', 'scheduled', $act$
  select pg_temp.put('{"unique_key": "x", "payload": 2, "unique_debounce_ms": 1000}')
$act$);

-- test: transition running -> completed by success
select pg_temp.takes('running', 'completed', $act$
  select pg_temp.ack('success')
$act$);

-- test: transition running -> deleted by success
select pg_temp.takes('running', 'deleted', $act$
  select pg_temp.ack('success')
$act$, '{"retention_ms": 0}');

-- test: transition running -> retryable by retry
select pg_temp.takes('running', 'retryable', $act$
  select pg_temp.ack('retry')
$act$);

-- test: transition running -> archived by retry
select pg_temp.takes('running', 'archived', $act$
  select pg_temp.ack('retry')
$act$, '{"max_attempts": 1}');

-- test: transition running -> archived by skip
select pg_temp.takes('running', 'archived', $act$
  select pg_temp.ack('skip')
$act$);

-- test: transition running -> deleted by revoke
select pg_temp.takes('running', 'deleted', $act$
  select pg_temp.ack('revoke')
$act$);

-- test: transition running -> scheduled by snooze
select pg_temp.takes('running', 'scheduled', $act$
  select pg_temp.ack('snooze', 5000)
$act$);

-- test: transition running -> available by rate_limited
select pg_temp.takes('running', 'available', $act$
  select pg_temp.ack('rate_limited')
$act$);

-- test: transition running -> undecodable by undecodable
select pg_temp.takes('running', 'undecodable', $act$
  select pg_temp.ack('undecodable')
$act$);

-- test: transition running -> undecodable by checkpoint_stale
select pg_temp.takes('running', 'undecodable', $act$
  select pg_temp.ack('checkpoint_stale')
$act$);

-- test: transition running -> retryable by lease_lost
select pg_temp.takes('running', 'retryable', $act$
  select pg_temp.later(60001); select :SCHEMA.reclaim_expired()
$act$);

-- test: transition running -> quarantined by lease_lost
select pg_temp.takes('running', 'quarantined', $act$
  update :SCHEMA.job set crash_attempt = 2; select pg_temp.later(60001); select :SCHEMA.reclaim_expired()
$act$);

-- test: transition archived -> available by operator_retry
select pg_temp.takes('archived', 'available', $act$
  select :SCHEMA.operator_retry('x')
$act$);

-- test: transition cancelled -> available by operator_retry
select pg_temp.takes('cancelled', 'available', $act$
  select :SCHEMA.operator_retry('x')
$act$);

-- test: transition undecodable -> available by operator_retry
select pg_temp.takes('undecodable', 'available', $act$
  select :SCHEMA.operator_retry('x')
$act$);

-- test: transition quarantined -> available by operator_release
select pg_temp.takes('quarantined', 'available', $act$
  select :SCHEMA.quarantine_release(:SCHEMA.fingerprint('task', '"x"'))
$act$);

-- test: transition pending -> cancelled by operator_cancel
select pg_temp.takes('pending', 'cancelled', $act$
  select :SCHEMA.operator_cancel('x')
$act$);

-- test: transition scheduled -> cancelled by operator_cancel
select pg_temp.takes('scheduled', 'cancelled', $act$
  select :SCHEMA.operator_cancel('x')
$act$);

-- test: transition available -> cancelled by operator_cancel
select pg_temp.takes('available', 'cancelled', $act$
  select :SCHEMA.operator_cancel('x')
$act$);

-- test: transition running -> cancelled by operator_cancel
select pg_temp.takes('running', 'cancelled', $act$
  select :SCHEMA.operator_cancel('x')
$act$);

-- test: transition retryable -> cancelled by operator_cancel
select pg_temp.takes('retryable', 'cancelled', $act$
  select :SCHEMA.operator_cancel('x')
$act$);

-- test: transition pending -> quarantined by quarantine_sweep
select pg_temp.takes('pending', 'quarantined', $act$
  select pg_temp.quarantine()
$act$);

-- test: transition scheduled -> quarantined by quarantine_sweep
select pg_temp.takes('scheduled', 'quarantined', $act$
  select pg_temp.quarantine()
$act$);

-- test: transition available -> quarantined by quarantine_sweep
select pg_temp.takes('available', 'quarantined', $act$
  select pg_temp.quarantine()
$act$);

-- test: transition retryable -> quarantined by quarantine_sweep
select pg_temp.takes('retryable', 'quarantined', $act$
  select pg_temp.quarantine()
$act$);

-- test: transition available -> archived by saturated_discard
select pg_temp.takes('available', 'archived', $act$
  select pg_temp.ceiling('discard'); select pg_temp.put('{"id": "y", "queue": "x", "priority": 9}');
  select :SCHEMA.admit('w', array['x'], 1); select :SCHEMA.admit('w', array['x'], 1)
$act$);

-- test: transition available -> cancelled by saturated_cancel
select pg_temp.takes('available', 'cancelled', $act$
  select pg_temp.ceiling('cancel_incoming'); select pg_temp.put('{"id": "y", "queue": "x", "priority": 9}');
  select :SCHEMA.admit('w', array['x'], 1); select :SCHEMA.admit('w', array['x'], 1)
$act$);

-- test: transition running -> cancelled by displaced
select pg_temp.takes('running', 'cancelled', $act$
  select pg_temp.ceiling('cancel_running'); select pg_temp.put('{"id": "y", "queue": "x"}');
  select :SCHEMA.admit('w', array['x'], 1)
$act$);

-- test: transition available -> archived by deadline_passed
select pg_temp.takes('available', 'archived', $act$
  update :SCHEMA.job set deadline_ms = :SCHEMA.now_ms(); select pg_temp.later(1); select :SCHEMA.expire_deadlines()
$act$);

-- test: transition scheduled -> archived by deadline_passed
select pg_temp.takes('scheduled', 'archived', $act$
  update :SCHEMA.job set deadline_ms = :SCHEMA.now_ms(); select pg_temp.later(1); select :SCHEMA.expire_deadlines()
$act$);

-- test: transition retryable -> archived by deadline_passed
select pg_temp.takes('retryable', 'archived', $act$
  update :SCHEMA.job set deadline_ms = :SCHEMA.now_ms(); select pg_temp.later(1); select :SCHEMA.expire_deadlines()
$act$);

-- test: transition completed -> deleted by evicted
select pg_temp.takes('completed', 'deleted', $act$
  select pg_temp.later(8 * 86400000::bigint); select :SCHEMA.evict_retained()
$act$);

-- test: transition archived -> deleted by evicted
select pg_temp.takes('archived', 'deleted', $act$
  select pg_temp.later(8 * 86400000::bigint); select :SCHEMA.evict_retained()
$act$);

-- test: transition cancelled -> deleted by evicted
select pg_temp.takes('cancelled', 'deleted', $act$
  select pg_temp.later(8 * 86400000::bigint); select :SCHEMA.evict_retained()
$act$);

-- test: transition undecodable -> deleted by evicted
select pg_temp.takes('undecodable', 'deleted', $act$
  select pg_temp.later(8 * 86400000::bigint); select :SCHEMA.evict_retained()
$act$);

-- test: transition pending -> deleted by operator_delete
select pg_temp.takes('pending', 'deleted', $act$
  select :SCHEMA.delete_job('x')
$act$);

-- test: transition scheduled -> deleted by operator_delete
select pg_temp.takes('scheduled', 'deleted', $act$
  select :SCHEMA.delete_job('x')
$act$);

-- test: transition available -> deleted by operator_delete
select pg_temp.takes('available', 'deleted', $act$
  select :SCHEMA.delete_job('x')
$act$);

-- test: transition retryable -> deleted by operator_delete
select pg_temp.takes('retryable', 'deleted', $act$
  select :SCHEMA.delete_job('x')
$act$);

-- test: transition completed -> deleted by operator_delete
select pg_temp.takes('completed', 'deleted', $act$
  select :SCHEMA.delete_job('x')
$act$);

-- test: transition archived -> deleted by operator_delete
select pg_temp.takes('archived', 'deleted', $act$
  select :SCHEMA.delete_job('x')
$act$);

-- test: transition cancelled -> deleted by operator_delete
select pg_temp.takes('cancelled', 'deleted', $act$
  select :SCHEMA.delete_job('x')
$act$);

-- test: transition quarantined -> deleted by operator_delete
select pg_temp.takes('quarantined', 'deleted', $act$
  select :SCHEMA.delete_job('x')
$act$);

-- test: transition undecodable -> deleted by operator_delete
select pg_temp.takes('undecodable', 'deleted', $act$
  select :SCHEMA.delete_job('x')
$act$);
