create or replace function :SCHEMA.quarantine_release(fingerprint text)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_registered boolean;
  v_found boolean := false;
  v_job :SCHEMA.job;
  v_released bigint := 0;
begin
  perform :SCHEMA.check_text('fingerprint', quarantine_release.fingerprint, 255);
  delete from :SCHEMA.quarantine q where q.fingerprint = quarantine_release.fingerprint;
  v_registered := found;
  for v_job in
    select j.* from :SCHEMA.job j
    where j.quarantined_as = quarantine_release.fingerprint and j.state = 'quarantined'
    order by j.key
    for update
  loop
    v_found := true;
    -- Its unique key may have gone to another job: that one keeps it, and this job stays where it is.
    begin
      update :SCHEMA.job j
      set state = 'available', scheduled_at_ms = v_now, finalized_at_ms = null, evict_at_ms = null,
        quarantined_as = null
      where j.key = v_job.key
      returning j.* into v_job;
      insert into :SCHEMA.tally (queue, at_ms, depth) values (v_job.queue, v_now, 1);
      perform :SCHEMA.open_lanes(array[cast(row(v_job.queue, v_job.partition_key, v_job.sticky_worker,
        v_job.class_key, v_job.priority, v_job.scheduled_at_ms, v_job.key) as :SCHEMA.lane_entry)]);
      v_released := v_released + 1;
    exception when unique_violation then
      null;
    end;
  end loop;
  if not v_registered and not v_found then
    perform :SCHEMA.raise_error('HR006', 'no such content is quarantined',
      jsonb_build_object('what', 'quarantine', 'id', quarantine_release.fingerprint));
  end if;
  return v_released;
end;
$$;
comment on function :SCHEMA.quarantine_release is
  'Accepts a quarantined content again and makes its parked jobs available; returns how many. crash_attempt '
  'is kept, so one more crash quarantines it again. A job whose unique key another job has taken stays '
  'quarantined. Errors: HR006 not_found, HR007.';
revoke all on function :SCHEMA.quarantine_release from public;
