create or replace function :SCHEMA.promote_job(id text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
  v_job :SCHEMA.job := :SCHEMA.lock_job(promote_job.id);
begin
  perform :SCHEMA.check_state(v_job, 'promoted', '{pending}');
  perform :SCHEMA.move_jobs('promote', array[v_job.key]);
end;
$$;
comment on function :SCHEMA.promote_job is
  'Makes a pending job available now; nothing else ever moves it. Errors: HR006 not_found, HR007 where it is '
  'not pending, 55P03 where another transaction holds the job for more than 2 s.';
revoke all on function :SCHEMA.promote_job from public;
