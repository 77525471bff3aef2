create or replace function :SCHEMA.get_job_progress(id text)
returns table (current bigint, total bigint, message text, fence bigint, at_ms bigint)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('id', get_job_progress.id, 255);
  return query
    select x.progress_current, x.progress_total, x.progress_message, x.progress_fence, x.progress_at_ms
    from :SCHEMA.job j
    join :SCHEMA.job_extra x on x.key = j.key and x.progress_total is not null
    where j.key = :SCHEMA.job_key(get_job_progress.id);
end;
$$;
comment on function :SCHEMA.get_job_progress is
  'The progress that a job''s handler reported last, with the fence of the attempt that did; no row where '
  'there is none. Errors: HR007.';
revoke all on function :SCHEMA.get_job_progress from public;
