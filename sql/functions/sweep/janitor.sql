create or replace function :SCHEMA.janitor(max_rows integer default 1000)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
set plan_cache_mode = force_generic_plan
as $$
declare
  v_all text[] := string_to_array('throttle effect queue_minute attempt open_run run_lease enqueue_window '
    'worker operation job_archive duty sweep_error schedule_event queue sleeper lane', ' ');
  v_what text;
  v_gone bigint := 0;
begin
  perform :SCHEMA.check_max_rows(max_rows);
  foreach v_what in array v_all loop
    begin
      v_gone := v_gone + :SCHEMA.tidy(v_what, max_rows);
      delete from :SCHEMA.sweep_error e where e.sweep = 'janitor' and e.subject = v_what;
    exception when others then
      -- What can't be removed from one table must not keep the others growing.
      perform :SCHEMA.note_sweep_error('janitor', v_what, sqlstate || ' ' || sqlerrm);
    end;
  end loop;
  return v_gone;
end;
$$;
comment on function :SCHEMA.janitor is
  'Removes what has outlived its horizon, at most max_rows of each: throttle windows that ended; effects, '
  'counts per minute, the history of jobs that are gone, finished operations, unused duties, errors of '
  'sweeps and events of deleted schedules of 30 days; archived jobs past their time; workers silent and run '
  'leases expired for a day; what is stored about queues idle for an hour; numbers of enqueues and sleepers '
  'past their time; lines that stay empty. Errors: HR007.';
revoke all on function :SCHEMA.janitor from public;
