create or replace function :SCHEMA.backend_upsert_run(run json)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_run :SCHEMA.attempt;
  v_new :SCHEMA.attempt;
  v_status text;
  v_now bigint := :SCHEMA.now_ms();
begin
  perform :SCHEMA.check_keys('run', run,
    '{run_id,job_id,task_name,attempt,status,started_at_ms,finished_at_ms,duration_ms,error_message}');
  v_status := run ->> 'status';
  begin
    v_new.attempt := coalesce((run ->> 'attempt')::integer, 1);
    v_new.started_at_ms := coalesce((run ->> 'started_at_ms')::bigint, v_now);
    v_new.finished_at_ms := coalesce((run ->> 'finished_at_ms')::bigint, case when v_status <> 'running'
      then v_now end);
    v_new.duration_ms := (run ->> 'duration_ms')::bigint;
  exception when data_exception then
    perform :SCHEMA.raise_unreadable('run', run, '{attempt}', '{started_at_ms,finished_at_ms,duration_ms}',
      '{}');
    perform :SCHEMA.raise_invalid('run', sqlerrm, 'numbers within their bounds');
  end;
  if v_status is null or v_status not in ('running', 'success', 'failed', 'canceled', 'timeout') then
    perform :SCHEMA.raise_invalid('status', 'is unknown', 'running, success, failed, canceled, timeout');
  elsif (v_status = 'running') <> (v_new.finished_at_ms is null) then
    perform :SCHEMA.raise_invalid('finished_at_ms', 'does not go with the status', 'none while running');
  end if;
  perform :SCHEMA.check_text('run_id', run ->> 'run_id', 255);
  perform :SCHEMA.check_text('job_id', run ->> 'job_id', 255);
  perform :SCHEMA.check_task_name(run ->> 'task_name');
  perform :SCHEMA.check_range('attempt', v_new.attempt, 1, 2147483647);
  perform :SCHEMA.check_range('started_at_ms', v_new.started_at_ms, 0, 315576000000000);
  perform :SCHEMA.check_range('finished_at_ms', coalesce(v_new.finished_at_ms, 0), 0, 315576000000000);
  perform :SCHEMA.check_range('duration_ms', coalesce(v_new.duration_ms, 0), 0, 315576000000000);
  if (run ->> 'run_id') ~ '^r[0-9a-f]{16}$' and (:SCHEMA.backend_find_run(run ->> 'run_id')).no is null then
    perform :SCHEMA.raise_invalid('run_id', 'has the form of a generated id', 'any other text');
  end if;
  v_new.outcome := case v_status when 'running' then null when 'canceled' then 'cancelled' else v_status end;
  insert into :SCHEMA.attempt (job_key, job_id, kind, queue, attempt, started_at_ms, finished_at_ms, outcome,
    error, run_id, duration_ms)
  select :SCHEMA.job_key(run ->> 'job_id'), run ->> 'job_id', run ->> 'task_name', 'global', v_new.attempt,
    v_new.started_at_ms, v_new.finished_at_ms, v_new.outcome,
      :SCHEMA.backend_error_text(run ->> 'error_message'),
    run ->> 'run_id', v_new.duration_ms
  where (:SCHEMA.backend_find_run(run ->> 'run_id')).no is null
  on conflict do nothing;
  if found then
    return;
  end if;
  v_run := :SCHEMA.backend_find_run(run ->> 'run_id');
  if v_run.job_id <> run ->> 'job_id' or v_run.kind <> run ->> 'task_name' then
    perform :SCHEMA.raise_error('HR002', 'the id belongs to a run of another job',
      jsonb_build_object('job_id', v_run.job_id));
  elsif v_status <> 'running' then
    perform :SCHEMA.backend_finish_run(run ->> 'run_id', v_status, v_new.duration_ms,
      run ->> 'error_message');
  elsif v_run.finished_at_ms is not null then
    perform :SCHEMA.raise_invalid('run_id', 'names a run that has ended', 'the end that is stored');
  elsif v_run.fence is null then
    update :SCHEMA.attempt a
    set attempt = v_new.attempt, started_at_ms = coalesce((run ->> 'started_at_ms')::bigint, a.started_at_ms)
    where a.no = v_run.no and a.finished_at_ms is null;
  end if;
end;
$$;
comment on function :SCHEMA.backend_upsert_run is
  'Stores a run, also of a job that was never claimed or is unknown; one that is there already is ended as '
  'backend_finish_run does. An ended run never changes. Errors: HR002, HR005, HR007.';
revoke all on function :SCHEMA.backend_upsert_run from public;
