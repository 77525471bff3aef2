create or replace function :SCHEMA.backend_read_policy(config json, task_name text)
returns :SCHEMA.task_config
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy :SCHEMA.task_config;
  v_retry json;
  v_limits json;
begin
  perform :SCHEMA.check_keys('task_config', coalesce(config, '{}'), '{task_name,priority,pool,retry_policy,'
    'rate_limit_policy,idempotency_mode,retention_ms}', '{retry_policy,rate_limit_policy}');
  v_retry := coalesce(config -> 'retry_policy', '{}');
  v_limits := coalesce(config -> 'rate_limit_policy', '{}');
  perform :SCHEMA.check_keys('retry_policy', v_retry,
    '{max_attempts,base_delay_ms,backoff_multiplier,max_delay_ms}');
  perform :SCHEMA.check_keys('rate_limit_policy', v_limits, '{max_in_flight,max_enqueue_per_second}');
  begin
    v_policy.task_name := coalesce(backend_read_policy.task_name, config ->> 'task_name');
    v_policy.priority := coalesce((config ->> 'priority')::integer, 1);
    v_policy.pool := coalesce(nullif(config ->> 'pool', ''), 'global');
    v_policy.max_attempts := coalesce((v_retry ->> 'max_attempts')::integer, 0);
    v_policy.base_delay_ms := coalesce((v_retry ->> 'base_delay_ms')::bigint, 0);
    v_policy.backoff_multiplier := coalesce((v_retry ->> 'backoff_multiplier')::double precision, 0);
    v_policy.max_delay_ms := coalesce((v_retry ->> 'max_delay_ms')::bigint, 0);
    v_policy.max_in_flight := coalesce((v_limits ->> 'max_in_flight')::integer, 0);
    v_policy.max_enqueue_per_second := coalesce((v_limits ->> 'max_enqueue_per_second')::integer, 0);
    v_policy.idempotency_mode := config ->> 'idempotency_mode';
    v_policy.retention_ms := (config ->> 'retention_ms')::bigint;
  exception when data_exception then
    perform :SCHEMA.raise_unreadable('task_config', coalesce(config, '{}'), '{priority}', '{retention_ms}',
      '{}');
    perform :SCHEMA.raise_unreadable('retry_policy', v_retry, '{max_attempts}',
      '{base_delay_ms,max_delay_ms}', '{backoff_multiplier}');
    perform :SCHEMA.raise_unreadable('rate_limit_policy', v_limits, '{max_in_flight,max_enqueue_per_second}',
      '{}', '{}');
    perform :SCHEMA.raise_invalid('task_config', sqlerrm, 'numbers within their bounds');
  end;
  perform :SCHEMA.check_task_name(v_policy.task_name);
  perform :SCHEMA.check_text('pool', v_policy.pool, 255);
  perform :SCHEMA.check_range('priority', v_policy.priority, -2147483647, 2147483647);
  perform :SCHEMA.check_range('max_attempts', v_policy.max_attempts, 0, 2147483647);
  perform :SCHEMA.check_range('base_delay_ms', v_policy.base_delay_ms, 0, 315576000000000);
  perform :SCHEMA.check_range('max_delay_ms', v_policy.max_delay_ms, 0, 315576000000000);
  perform :SCHEMA.check_range('max_in_flight', v_policy.max_in_flight, 0, 2147483647);
  perform :SCHEMA.check_range('max_enqueue_per_second', v_policy.max_enqueue_per_second, 0, 2147483647);
  if v_policy.backoff_multiplier <> 0 and not v_policy.backoff_multiplier between 1 and 100 then
    perform :SCHEMA.raise_invalid('backoff_multiplier', 'is out of bounds: ' || v_policy.backoff_multiplier,
      '1..100, or 0 for none');
  elsif v_policy.idempotency_mode not in ('lwt', 'none') then
    perform :SCHEMA.raise_invalid('idempotency_mode', 'is unknown', 'lwt, none');
  elsif v_policy.retention_ms is not null then
    perform :SCHEMA.check_range('retention_ms', v_policy.retention_ms, 0, 315576000000000);
  end if;
  return v_policy;
end;
$$;
comment on function :SCHEMA.backend_read_policy is
  'The policies of a task as JSON, with their defaults: one execution, no limits, pool global, priority 1. '
  'HR007 for what is out of bounds.';
revoke all on function :SCHEMA.backend_read_policy from public;
