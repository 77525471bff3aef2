create or replace function :SCHEMA.backend_extend_lease(lease_id text, ttl_secs bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_run :SCHEMA.attempt;
  v_held_as text;
begin
  perform :SCHEMA.check_text('lease_id', backend_extend_lease.lease_id, 255);
  perform :SCHEMA.check_range('ttl_secs', ttl_secs, -315576000000, 315576000000);
  update :SCHEMA.run_lease r set expires_at_ms = :SCHEMA.now_ms() + ttl_secs * 1000
  where r.lease_id = backend_extend_lease.lease_id;
  if found then
    return;
  end if;
  perform :SCHEMA.check_range('ttl_secs', ttl_secs, 1, 315576000000);
  v_run := :SCHEMA.backend_find_run(lease_id);
  v_held_as := (
    select l.lease_id from :SCHEMA.job j join :SCHEMA.lease l on l.lease_no = j.lease_no
    where j.key = v_run.job_key and j.fence = v_run.fence and j.state = 'running');
  if v_held_as is null or exists (
    select from :SCHEMA.renew(json_build_array(json_build_object('job_id', v_run.job_id, 'lease_id',
      v_held_as, 'fence', v_run.fence)), ttl_secs * 1000))
  then
    perform :SCHEMA.raise_error('HR005', 'the lease is lost', jsonb_build_object('job_id', v_run.job_id,
      'lease_id', backend_extend_lease.lease_id), 'stop working on the job: somebody else may have it');
  end if;
end;
$$;
comment on function :SCHEMA.backend_extend_lease is
  'Extends a lease to ttl_secs from now: a reservation, or that of a claimed job, which is called as its '
  'run. One that has expired and nobody took is revived. Errors: HR005 lease_rejected where it is lost, '
  'HR007.';
revoke all on function :SCHEMA.backend_extend_lease from public;
