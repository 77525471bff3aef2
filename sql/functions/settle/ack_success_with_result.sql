create or replace function :SCHEMA.ack_success_with_result(
  job_id text, lease_id text, fence bigint, logs jsonb, actual_weight integer, schema_version integer,
    bytes bytea
)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_variable
declare
  v_settled :SCHEMA.settled_job[];
begin
  if bytes is null then
    perform :SCHEMA.raise_invalid('bytes', 'must be given', 'at most 33554432 bytes');
  end if;
  v_settled := :SCHEMA.settle(:SCHEMA.read_acks(json_build_array(json_build_object(
    'job_id', job_id, 'lease_id', lease_id, 'fence', fence, 'outcome', 'success', 'logs', logs,
    'actual_weight', actual_weight, 'result_schema_version', coalesce(schema_version, 1),
    'result_base64', encode(bytes, 'base64'))), true));
  if v_settled = '{}' then
    perform :SCHEMA.raise_rejected(job_id);
  end if;
  return v_settled[1].state;
end;
$$;
comment on function :SCHEMA.ack_success_with_result is
  'Ends an attempt with success and stores its result under the same fence; it is kept as long as the job '
  'is, so a job without retention keeps none. Errors: HR005 lease_rejected, HR007 invalid.';
revoke all on function :SCHEMA.ack_success_with_result from public;
