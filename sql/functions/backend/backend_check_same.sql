create or replace function :SCHEMA.backend_check_same(job :SCHEMA.job, input :SCHEMA.backend_input)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if row(job.kind, job.queue, job.payload, job.actor_json, job.signature_hash) is distinct from
    row((input.job).kind, (input.job).queue, (input.job).payload, ((input.job).face).actor_json,
      ((input.job).face).signature_hash)
  then
    perform :SCHEMA.raise_error('HR002', 'the id belongs to a job with other content',
      jsonb_build_object('job_id', :SCHEMA.job_id(job.key, job.id)));
  end if;
end;
$$;
comment on function :SCHEMA.backend_check_same is
  'Raises HR002 id_conflict unless task, pool, params, actor and signature are those of the job.';
revoke all on function :SCHEMA.backend_check_same from public;
