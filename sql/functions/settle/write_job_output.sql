create or replace function :SCHEMA.write_job_output(
  job_id text, lease_id text, fence bigint, schema_version integer, bytes bytea
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
  perform :SCHEMA.check_range('schema_version', write_job_output.schema_version, 1, 2147483647);
  if write_job_output.bytes is null or octet_length(write_job_output.bytes) > 33554432 then
    perform :SCHEMA.raise_invalid('bytes', 'is missing or too long', 'at most 33554432 bytes');
  end if;
  v_key := :SCHEMA.hold(write_job_output.job_id, write_job_output.lease_id, write_job_output.fence);
  return query
    insert into :SCHEMA.job_extra as x (key, output_schema_version, output, output_fence, output_at_ms)
    values (v_key, write_job_output.schema_version, write_job_output.bytes, write_job_output.fence,
      :SCHEMA.now_ms())
    on conflict (key) do update
      set output_schema_version = excluded.output_schema_version, output = excluded.output,
        output_fence = excluded.output_fence, output_at_ms = excluded.output_at_ms
    returning x.output_fence, x.output_at_ms;
end;
$$;
comment on function :SCHEMA.write_job_output is
  'Replaces the output of a job while its holder still works on it; the job stays running. Returns the fence '
  'and time that were stored with it. Errors: HR005 lease_rejected, HR007.';
revoke all on function :SCHEMA.write_job_output from public;
