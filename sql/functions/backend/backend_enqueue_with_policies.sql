create or replace function :SCHEMA.backend_enqueue_with_policies(job json, task_config json default null)
returns table (job_id text, disposition text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_task text := :SCHEMA.backend_job_task(job);
  v_policy :SCHEMA.task_config := case
    when task_config is null then :SCHEMA.backend_policy_of(v_task)
    else :SCHEMA.backend_read_policy(task_config, v_task)
  end;
  v_input :SCHEMA.backend_input := :SCHEMA.backend_read_job(job, v_policy);
  v_at_ms bigint;
  v_there text;
  v_placed :SCHEMA.placed_job;
begin
  v_there := :SCHEMA.backend_standing(v_input);
  if v_there is null and v_policy.max_in_flight + v_policy.max_enqueue_per_second::bigint > 0 then
    -- The queue is locked before the task, everywhere.
    perform :SCHEMA.lock_enqueue_limits(array[v_input.job]);
    insert into :SCHEMA.task_limit as l (task_name) values (v_policy.task_name)
    on conflict (task_name) do update set touched = l.touched + 1;
    -- Whoever had the row may have enqueued the same.
    v_there := :SCHEMA.backend_standing(v_input);
    if v_there is null then
      v_at_ms := :SCHEMA.backend_check_limits(v_policy);
    end if;
  end if;
  if v_there is not null then
    return query select v_there, 'reused_idempotent';
    return;
  end if;
  v_placed := :SCHEMA.backend_place(v_input);
  if v_placed.disposition = 'inserted' and v_policy.max_enqueue_per_second > 0 then
    perform :SCHEMA.backend_note_enqueue(v_policy, v_at_ms);
  end if;
  return query
    select coalesce(v_placed.existing_id, v_placed.id),
      case when v_placed.disposition = 'inserted' then 'inserted_new' else 'reused_idempotent' end;
end;
$$;
comment on function :SCHEMA.backend_enqueue_with_policies is
  'Enqueues a job under the policies of its task: those given, or else those stored. Returns its id and '
  'inserted_new, or the id of the live job that has its idempotency key, or of the same job enqueued before, '
  'and reused_idempotent; that consumes no limit. The limits max_in_flight and max_enqueue_per_second are '
  'exact for the whole fleet. Errors: HR002 id_conflict, HR003 quarantined, HR004 backpressure, HR007 '
  'invalid, HR008 rate_limited (task, scope, limit, current, retry_after_ms).';
revoke all on function :SCHEMA.backend_enqueue_with_policies from public;
