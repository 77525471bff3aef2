create or replace function :SCHEMA.operator_retry(id text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set lock_timeout = '2s'
as $$
declare
  v_job :SCHEMA.job := :SCHEMA.lock_job(operator_retry.id);
  v_holder text;
begin
  perform :SCHEMA.check_state(v_job, 'retried', '{archived,cancelled,undecodable}');
  loop
    begin
      perform :SCHEMA.retry_jobs(array[v_job.key]);
      return;
    exception
      when unique_violation then
        null;
      when lock_not_available then
        perform :SCHEMA.raise_error('55P03', 'another transaction holds the unique key of job '
          || operator_retry.id, jsonb_build_object('job_id', operator_retry.id),
          'call it again when that has ended');
    end;
    -- Somebody else holds the key; where that job has finished meanwhile, the key is free again.
    select :SCHEMA.job_id(j.key, j.id) into v_holder
    from :SCHEMA.job j
    where j.unique_key = v_job.unique_key and j.stage < 2;
    if found then
      perform :SCHEMA.raise_error('HR001', 'another job has taken the unique key', jsonb_build_object(
        'existing_id', v_holder, 'replaced', false));
    end if;
  end loop;
end;
$$;
comment on function :SCHEMA.operator_retry is
  'Makes an archived, cancelled or undecodable job available now. Its attempts are kept, so one more failure '
  'may end it again; a deadline that has passed still counts. Errors: HR001 duplicate where another job has '
  'taken its unique key, HR006 not_found, HR007 where the state is another, 55P03 where another transaction '
  'holds the job or the key for more than 2 s.';
revoke all on function :SCHEMA.operator_retry from public;
