create or replace function :SCHEMA.backend_upsert_job(job json)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_task text := :SCHEMA.backend_job_task(job);
  v_input :SCHEMA.backend_input := :SCHEMA.backend_read_job(job,
    :SCHEMA.backend_policy_of(v_task));
  v_job :SCHEMA.job;
  v_placed :SCHEMA.placed_job;
begin
  perform :SCHEMA.backend_states(v_input.status);
  select j.* into v_job from :SCHEMA.job j where j.key = :SCHEMA.job_key((v_input.job).id) for update;
  if not found then
    v_placed := :SCHEMA.backend_place(v_input);
    if v_placed.disposition = 'inserted' then
      perform :SCHEMA.backend_import_job(v_placed.key, v_input);
      return;
    elsif v_placed.disposition = 'duplicate' then
      perform :SCHEMA.raise_error('HR001', 'a live job has this idempotency key', jsonb_build_object(
        'existing_id', v_placed.existing_id, 'replaced', false));
    end if;
    select j.* into v_job from :SCHEMA.job j where j.key = v_placed.key for update;
  end if;
  perform :SCHEMA.backend_check_same(v_job, v_input);
  perform :SCHEMA.backend_move_job(v_job, v_input);
end;
$$;
comment on function :SCHEMA.backend_upsert_job is
  'Stores a job: a new one in any status; one that is there may change its priority while it is queued, be '
  'canceled, and leave running for the holder, who shows its run_id: success, failed for good, canceled, or '
  'queued, as a retry where attempt is higher than before. Nothing leaves a final status, and content never '
  'changes. Errors: HR001 duplicate, HR002 id_conflict, HR003, HR004, HR005 lease_rejected, HR007, HR009 '
  'illegal_transition.';
revoke all on function :SCHEMA.backend_upsert_job from public;
