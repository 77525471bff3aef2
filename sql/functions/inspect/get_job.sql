create or replace function :SCHEMA.get_job(id text, include_payload boolean default false)
returns setof :SCHEMA.job_summary
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('id', get_job.id, 255);
  return query
    select s.*
    from :SCHEMA.job j
    cross join lateral :SCHEMA.summarize(j, get_job.include_payload) s
    where j.key = :SCHEMA.job_key(get_job.id);
end;
$$;
comment on function :SCHEMA.get_job is
  'One job with its state, or no row. Payload and headers only with include_payload; result, output, '
  'progress and checkpoint have functions of their own.';
revoke all on function :SCHEMA.get_job from public;
