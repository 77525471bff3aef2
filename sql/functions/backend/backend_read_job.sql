create or replace function :SCHEMA.backend_read_job(job json, policy :SCHEMA.task_config)
returns :SCHEMA.backend_input
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_input :SCHEMA.backend_input;
  v_job :SCHEMA.job_input;
  v_signature numeric;
  v_priority bigint;
begin
  begin
    v_priority := coalesce((job ->> 'priority')::bigint, policy.priority);
    v_job.delay_ms := (job ->> 'delay_ms')::bigint;
    v_signature := (job ->> 'signature_hash')::numeric;
    v_input.attempt := coalesce((job ->> 'attempt')::integer, 1);
  exception when data_exception then
    perform :SCHEMA.raise_unreadable('job', job, '{attempt}', '{priority,delay_ms}', '{signature_hash}');
    perform :SCHEMA.raise_invalid('job', sqlerrm, 'numbers within their bounds');
  end;
  -- Higher first, as the core has it, is the negative; the least integer has none.
  perform :SCHEMA.check_range('priority', v_priority, -2147483647, 2147483647);
  v_job.priority := - v_priority;
  if v_signature is not null and (v_signature not between 0 and 18446744073709551615
    or v_signature <> trunc(v_signature)) then
    perform :SCHEMA.raise_invalid('signature_hash', 'is out of bounds', '0..2^64-1');
  elsif octet_length(job ->> 'actor_json') > 65536 then
    perform :SCHEMA.raise_invalid('actor_json', 'is too long', 'at most 65536 bytes');
  elsif octet_length(job ->> 'idempotency_key') > 1024 then
    perform :SCHEMA.raise_invalid('idempotency_key', 'is too long', 'at most 1024 bytes');
  end if;
  perform :SCHEMA.check_range('attempt', v_input.attempt, 1, 2147483647);
  perform :SCHEMA.check_task_name(job ->> 'task_name');
  v_job.ord := 1;
  v_job.id := job ->> 'job_id';
  v_job.kind := job ->> 'task_name';
  v_job.payload := convert_to(coalesce(job ->> 'params_json', 'null'), 'UTF8');
  v_job.queue := coalesce(nullif(job ->> 'pool', ''), policy.pool);
  v_job.partition_key := '';
  v_job.sticky_worker := '';
  v_job.weight := 1;
  v_job.schema_version := 1;
  v_job.pending := false;
  v_job.max_attempts := greatest(policy.max_attempts, 1);
  v_job.retention_ms := case when policy.retention_ms is null then 315576000000000
    else nullif(policy.retention_ms, 0) end;
  v_job.face := row(job ->> 'actor_json', v_signature, policy.base_delay_ms, policy.backoff_multiplier,
    policy.max_delay_ms);
  if job ->> 'idempotency_key' <> '' and policy.idempotency_mode is distinct from 'none' then
    v_input.idempotency_key := job ->> 'idempotency_key';
    v_job.unique_key := :SCHEMA.scoped_unique_key(v_job.kind, convert_to(v_input.idempotency_key, 'UTF8'),
      'global');
  end if;
  perform :SCHEMA.check_jobs(array[v_job]);
  v_input.job := v_job;
  v_input.status := coalesce(job ->> 'status', 'queued');
  v_input.run_id := job ->> 'run_id';
  return v_input;
end;
$$;
comment on function :SCHEMA.backend_read_job is
  'A job of the backend surface as the core takes it: lower priority first becomes higher first, attempts '
  'from 1 become attempts from 0, what is to stay for ever stays 10,000 years. HR007 for what is out of '
  'bounds.';
revoke all on function :SCHEMA.backend_read_job from public;
