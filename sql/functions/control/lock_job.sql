create or replace function :SCHEMA.lock_job(id text)
returns :SCHEMA.job
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_job :SCHEMA.job;
begin
  perform :SCHEMA.check_text('id', lock_job.id, 255);
  begin
    select * into v_job from :SCHEMA.job j where j.key = :SCHEMA.job_key(lock_job.id) for update;
  exception when lock_not_available then
    perform :SCHEMA.raise_error('55P03', 'job ' || lock_job.id || ' is held by another transaction',
      jsonb_build_object('job_id', lock_job.id), 'call it again when that has ended');
  end;
  if not found then
    perform :SCHEMA.raise_error('HR006', 'there is no job ' || lock_job.id, jsonb_build_object(
      'what', 'job', 'id', lock_job.id));
  end if;
  return v_job;
end;
$$;
comment on function :SCHEMA.lock_job is
  'Locks a job until the end of the transaction and returns it as it is then; HR006 where there is none, '
  '55P03 where another transaction holds it for longer than the lock_timeout of the caller.';
revoke all on function :SCHEMA.lock_job from public;
