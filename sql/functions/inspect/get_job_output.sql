create or replace function :SCHEMA.get_job_output(id text)
returns table (schema_version integer, bytes bytea, fence bigint, at_ms bigint)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('id', get_job_output.id, 255);
  return query
    select x.output_schema_version, x.output, x.output_fence, x.output_at_ms
    from :SCHEMA.job j
    join :SCHEMA.job_extra x on x.key = j.key and x.output is not null
    where j.key = :SCHEMA.job_key(get_job_output.id);
end;
$$;
comment on function :SCHEMA.get_job_output is
  'The output that a job''s handler wrote last, with the fence of the attempt that wrote it: it stays until '
  'a later attempt replaces it. No row where there is none. Errors: HR007.';
revoke all on function :SCHEMA.get_job_output from public;
