create or replace function :SCHEMA.write_job_progress(
  job_id text, lease_id text, fence bigint, current bigint, total bigint, message text default null
)
returns table (written_fence bigint, at_ms bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_key bigint;
begin
  perform :SCHEMA.check_range('total', write_job_progress.total, 1, 9007199254740991);
  perform :SCHEMA.check_range('current', write_job_progress.current, 0, write_job_progress.total);
  if write_job_progress.message is not null then
    perform :SCHEMA.check_text('message', write_job_progress.message, 512, true);
  end if;
  v_key := :SCHEMA.hold(write_job_progress.job_id, write_job_progress.lease_id, write_job_progress.fence);
  return query
    insert into :SCHEMA.job_extra as x (
      key, progress_current, progress_total, progress_message, progress_fence, progress_at_ms)
    values (v_key, write_job_progress.current, write_job_progress.total, write_job_progress.message,
      write_job_progress.fence, :SCHEMA.now_ms())
    on conflict (key) do update
      set progress_current = excluded.progress_current, progress_total = excluded.progress_total,
        progress_message = excluded.progress_message, progress_fence = excluded.progress_fence,
        progress_at_ms = excluded.progress_at_ms
    returning x.progress_fence, x.progress_at_ms;
end;
$$;
comment on function :SCHEMA.write_job_progress is
  'Says how far a job has come, for people: current of total, and a word about it; it may go backwards. '
  'Returns the fence and time that were stored with it. Errors: HR005 lease_rejected, HR007.';
revoke all on function :SCHEMA.write_job_progress from public;
