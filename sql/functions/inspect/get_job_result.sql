create or replace function :SCHEMA.get_job_result(id text)
returns table (schema_version integer, bytes bytea)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('id', get_job_result.id, 255);
  return query
    select x.result_schema_version, x.result
    from :SCHEMA.job j
    join :SCHEMA.job_extra x on x.key = j.key and x.result is not null
    where j.key = :SCHEMA.job_key(get_job_result.id) and j.state = 'completed';
end;
$$;
comment on function :SCHEMA.get_job_result is
  'What a completed job left as its result; no row where the job is gone, has not completed, or left none. '
  'Errors: HR007.';
revoke all on function :SCHEMA.get_job_result from public;
