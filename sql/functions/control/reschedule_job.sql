create or replace function :SCHEMA.reschedule_job(id text, at_ms bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set lock_timeout = '2s'
as $$
declare
  v_job :SCHEMA.job;
begin
  perform :SCHEMA.check_range('at_ms', reschedule_job.at_ms, 1, 315576000000000);
  v_job := :SCHEMA.lock_job(reschedule_job.id);
  perform :SCHEMA.check_state(v_job, 'rescheduled', '{scheduled,retryable}');
  update :SCHEMA.job j set scheduled_at_ms = reschedule_job.at_ms where j.key = v_job.key;
  if reschedule_job.at_ms < v_job.scheduled_at_ms then
    -- Workers sleep until the next job falls due, and that is now another.
    perform :SCHEMA.wake_workers(array[v_job.queue]);
  end if;
end;
$$;
comment on function :SCHEMA.reschedule_job is
  'Sets when a scheduled or retryable job is to run, in ms since the epoch; a time that has passed means at '
  'once. The state stays. Errors: HR006 not_found, HR007, 55P03 where another transaction holds the job for '
  'more than 2 s.';
revoke all on function :SCHEMA.reschedule_job from public;
