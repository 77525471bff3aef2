create or replace function :SCHEMA.get_job_checkpoint(id text)
returns table (checkpoint jsonb, cursor bytea)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('id', get_job_checkpoint.id, 255);
  return query
    select coalesce(x.checkpoint, '{"completed": []}'), x.cursor
    from :SCHEMA.job j
    left join :SCHEMA.job_extra x on x.key = j.key
    where j.key = :SCHEMA.job_key(get_job_checkpoint.id);
end;
$$;
comment on function :SCHEMA.get_job_checkpoint is
  'How far a job has come, as its handler stored it; an empty checkpoint where it stored none, no row where '
  'there is no such job. Errors: HR007.';
revoke all on function :SCHEMA.get_job_checkpoint from public;
