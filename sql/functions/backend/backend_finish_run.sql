create or replace function :SCHEMA.backend_finish_run(
  run_id text, status text, duration_ms bigint default null, error_message text default null
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_error text := :SCHEMA.backend_error_text(error_message);
  v_run :SCHEMA.attempt;
  v_job :SCHEMA.job;
begin
  if status is null or status not in ('success', 'failed', 'canceled', 'timeout') then
    perform :SCHEMA.raise_invalid('status', 'is no end of a run: ' || coalesce(left(status, 40), 'null'),
      'success, failed, canceled, timeout');
  elsif duration_ms is not null then
    perform :SCHEMA.check_range('duration_ms', duration_ms, 0, 315576000000000);
  end if;
  v_run := :SCHEMA.backend_find_run(run_id);
  if v_run.no is null then
    perform :SCHEMA.raise_error('HR006', 'there is no run ' || run_id,
      jsonb_build_object('what', 'run', 'id', run_id));
  end if;
  if v_run.fence is not null and v_run.finished_at_ms is null then
    select j.* into v_job from :SCHEMA.job j where j.key = v_run.job_key for update;
    if v_job.state = 'running' and v_job.fence = v_run.fence then
      perform :SCHEMA.backend_end_attempt(v_job, v_run, status, v_error);
      update :SCHEMA.attempt a
      set outcome = case when backend_finish_run.status = 'timeout' then 'timeout' else a.outcome end,
        error = v_error, duration_ms = backend_finish_run.duration_ms
      where a.no = v_run.no;
      return;
    end if;
  elsif v_run.finished_at_ms is null then
    update :SCHEMA.attempt a
    set outcome = case backend_finish_run.status when 'canceled' then 'cancelled'
      else backend_finish_run.status end, error = v_error, duration_ms = backend_finish_run.duration_ms,
        finished_at_ms = :SCHEMA.now_ms()
    where a.no = v_run.no and a.finished_at_ms is null;
    if found then
      return;
    end if;
  end if;
  -- It has ended: by somebody else meanwhile, or before.
  v_run := :SCHEMA.backend_find_run(run_id);
  if v_run.finished_at_ms is null or :SCHEMA.backend_run_status(v_run.outcome) <> status
    or v_run.error is distinct from v_error or v_run.duration_ms is distinct from duration_ms
  then
    if v_run.fence is not null then
      perform :SCHEMA.raise_rejected(v_run.job_id);
    end if;
    perform :SCHEMA.raise_invalid('run_id', 'names a run that has ended otherwise', 'the end that is stored');
  end if;
end;
$$;
comment on function :SCHEMA.backend_finish_run is
  'Ends a run: success, failed, canceled or timeout, with how long it took and an error message, whose '
  'secrets are masked. Where a claim opened the run, this ends the job''s attempt too, as the task''s '
  'policies say: failed and timeout are retried while executions are left. Ending it the same way again is '
  'fine. Errors: HR005 lease_rejected where the holder has lost it or it has ended otherwise, HR006 '
  'not_found, HR007.';
revoke all on function :SCHEMA.backend_finish_run from public;
