create or replace function :SCHEMA.backend_move_job(job :SCHEMA.job, input :SCHEMA.backend_input)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_from text := :SCHEMA.backend_status(job.state::text);
  v_moved :SCHEMA.job;
begin
  if v_from = 'queued' and input.status = 'queued' then
    if job.priority <> (input.job).priority then
      update :SCHEMA.job j set priority = (input.job).priority
        where j.key = job.key returning j.* into v_moved;
      perform :SCHEMA.open_lanes(:SCHEMA.lanes_for(array[v_moved]));
    end if;
  elsif v_from = 'queued' and input.status = 'canceled' then
    perform :SCHEMA.cancel_jobs(array[job.key]);
  elsif v_from = 'running' and input.status <> 'running' then
    if input.status = 'canceled' and exists (
      select from :SCHEMA.attempt a
      where a.job_key = job.key and a.finished_at_ms is null and a.fence = job.fence
        and a.run_id = input.run_id)
    then
      perform :SCHEMA.cancel_jobs(array[job.key]);
    else
      perform :SCHEMA.backend_leave_running(job, input.run_id, case
        when input.status = 'success' then 'success'
        when input.status <> 'queued' then 'skip'
        when input.attempt > job.attempt + 1 then 'retry'
        else 'rate_limited'
      end, null);
    end if;
  elsif v_from <> input.status then
    perform :SCHEMA.raise_error('HR009', 'a job may not go from ' || v_from || ' to ' || input.status,
      jsonb_build_object(
      'job_id', :SCHEMA.job_id(job.key, job.id), 'from', v_from, 'event', 'upsert_job'));
  end if;
end;
$$;
comment on function :SCHEMA.backend_move_job is
  'Moves a job, which the caller has locked, into the status in which it is to be stored: legal moves only, '
  'out of running for its holder only. HR005, HR009.';
revoke all on function :SCHEMA.backend_move_job from public;
