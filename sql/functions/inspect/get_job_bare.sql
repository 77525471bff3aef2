create or replace function :SCHEMA.get_job_bare(id text)
returns setof :SCHEMA.job_summary
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  perform :SCHEMA.check_text('id', get_job_bare.id, 255);
  return query
    select s.*
    from :SCHEMA.job j
    cross join lateral :SCHEMA.summarize(j, false) s
    where j.key = :SCHEMA.job_key(get_job_bare.id);
end;
$$;
comment on function :SCHEMA.get_job_bare is
  'One job without payload and headers, for get_job. Errors: HR007.';
revoke all on function :SCHEMA.get_job_bare from public;
