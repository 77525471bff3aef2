create or replace function :SCHEMA.get_job(id text, include_payload boolean default false)
returns setof :SCHEMA.job_summary
language plpgsql
stable
security invoker
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Runs with the caller's rights, so that only who was granted reader_payload gets past the second call.
  if get_job.include_payload then
    return query select * from :SCHEMA.get_job_with_payload(get_job.id);
  else
    return query select * from :SCHEMA.get_job_bare(get_job.id);
  end if;
end;
$$;
comment on function :SCHEMA.get_job is
  'One job with its state, or no row. Payload and headers only with include_payload, which needs the duty '
  'reader_payload; result, output, progress and checkpoint have functions of their own. Errors: HR007.';
revoke all on function :SCHEMA.get_job from public;
