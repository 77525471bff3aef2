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
begin
  if bytes is null then
    perform :SCHEMA.raise_invalid('bytes', 'must be given', 'at most 33554432 bytes');
  end if;
  return :SCHEMA.settle_one(cast(row(null, job_id, null, lease_id, fence, 'success', null, null, logs,
    actual_weight, coalesce(schema_version, 1), bytes) as :SCHEMA.ack_input));
end;
$$;
comment on function :SCHEMA.ack_success_with_result is
  'Ends an attempt with success and stores its result under the same fence; it is kept as long as the job '
  'is, so a job without retention keeps none. Errors: HR005 lease_rejected, HR007 invalid.';
revoke all on function :SCHEMA.ack_success_with_result from public;
