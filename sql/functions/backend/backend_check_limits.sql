create or replace function :SCHEMA.backend_check_limits(policy :SCHEMA.task_config)
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
  v_now bigint := :SCHEMA.now_ms();
  v_number bigint;
  v_current bigint;
  v_at_ms bigint;
begin
  if policy.max_in_flight > 0 then
    v_current := (
      select count(*) from (
        select from :SCHEMA.job j
        where j.kind = policy.task_name and j.counted and j.stage < 2
        limit policy.max_in_flight) live);
    if v_current >= policy.max_in_flight then
      perform :SCHEMA.raise_error('HR008', 'the task has as many unfinished jobs as it may have',
        jsonb_build_object(
        'task', policy.task_name, 'scope', 'in_flight', 'limit', policy.max_in_flight, 'current', v_current,
        'retry_after_ms', 1000), 'try again when jobs have finished');
    end if;
  end if;
  if policy.max_enqueue_per_second > 0 then
    v_number := (select l.enqueued from :SCHEMA.task_limit l where l.task_name = policy.task_name);
    v_at_ms := (
      select w.at_ms from :SCHEMA.enqueue_window w
      where w.task_name = policy.task_name and w.no = v_number + 1 - policy.max_enqueue_per_second);
    -- Milliseconds are cut, so two that are 1000 apart may be less than a second apart.
    if v_at_ms >= v_now - 1000 then
      perform :SCHEMA.raise_error('HR008', 'the task takes no more jobs in this second', jsonb_build_object(
        'task', policy.task_name, 'scope', 'per_second', 'limit', policy.max_enqueue_per_second,
        'current', policy.max_enqueue_per_second, 'retry_after_ms', v_at_ms + 1001 - v_now),
          'try again a little later');
    end if;
  end if;
  return v_now;
end;
$$;
comment on function :SCHEMA.backend_check_limits is
  'Raises HR008 where a limit of the task, whose row in task_limit the caller has locked, is reached. '
  'Returns the time at which it looked.';
revoke all on function :SCHEMA.backend_check_limits from public;
