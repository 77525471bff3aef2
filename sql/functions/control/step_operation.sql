create or replace function :SCHEMA.step_operation(operation :SCHEMA.operation, batch integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_states text[] := :SCHEMA.operation_states(operation.action);
  v_created bigint := operation.created_at_ms;
  v_found :SCHEMA.found_jobs;
  v_keys bigint[];
  v_result :SCHEMA.move_result;
  v_key bigint;
  v_error text;
  v_done bigint;
begin
  v_found := :SCHEMA.find_jobs(operation.selector, v_states, operation.before_key, batch,
    greatest(5000, batch));
  v_keys := array(
    select j.key from :SCHEMA.job j
    where j.key = any (v_found.keys) and j.state::text = any (v_states)
      -- What a retry has moved may fail and come back; it had its turn.
      and (operation.action <> 'retry' or j.finalized_at_ms <= v_created)
    order by j.key
    for update skip locked);
  operation.left_over := operation.left_over or exists (
    select from :SCHEMA.job j
    where j.key = any (v_found.keys) and j.key <> all (v_keys) and j.state::text = any (v_states)
      and (operation.action <> 'retry' or j.finalized_at_ms <= v_created));
  v_result := :SCHEMA.move_each(operation.action, array(select k from unnest(v_keys) k order by k desc),
    :SCHEMA.now_ms() + 5000, batch);
  for v_key, v_error in select * from unnest(v_result.failed, v_result.errors) loop
    -- Whoever holds what a job waits for lets go some time: once more in the next pass.
    operation.left_over := operation.left_over or v_error ~ '^(55P03|40001|40P01) ';
    operation.pass_skipped := :SCHEMA.count_skipped(operation.pass_skipped, v_error);
    if v_error !~ '^23505 ' then
      perform :SCHEMA.note_sweep_error('run_pending_operations', v_key::text, v_error);
    end if;
  end loop;
  v_done := v_result.done;
  if v_result.left_over <> '{}' then
    v_found.before_key := v_result.left_over[1] + 1;
  end if;
  operation.affected := operation.affected + v_done;
  operation.pass_affected := operation.pass_affected + v_done;
  operation.before_key := v_found.before_key;
  operation.status := 'running';
  if v_found.before_key is null then
    operation.skipped_for := operation.pass_skipped;
    if operation.left_over or operation.pass_affected > 0 then
      -- Once more from the newest: for rows that somebody held, and for jobs that came to match meanwhile.
      operation.before_key := operation.upto_key + 1;
      operation.pass_affected := 0;
      operation.left_over := false;
      operation.pass_skipped := '{}';
      operation.passes := operation.passes + 1;
    else
      operation.status := 'completed';
      if operation.action = 'delete_queue' then
        perform :SCHEMA.clear_queue(operation.selector ->> 'queue');
      end if;
    end if;
  end if;
  update :SCHEMA.operation o
  set status = operation.status, affected = operation.affected, pass_affected = operation.pass_affected,
    before_key = coalesce(operation.before_key, 0), left_over = operation.left_over,
    passes = operation.passes,
    skipped_for = operation.skipped_for, pass_skipped = operation.pass_skipped,
    updated_at_ms = :SCHEMA.now_ms(), error = null,
    finished_at_ms = case when operation.status = 'completed' then :SCHEMA.now_ms() end
  where o.operation_id = operation.operation_id;
  return v_done;
end;
$$;
comment on function :SCHEMA.step_operation is
  'Moves one batch of a bulk operation, whose row the caller has locked, and notes how far it has come. It '
  'is completed when a whole pass has found nothing to move and no row that somebody else held.';
revoke all on function :SCHEMA.step_operation from public;
