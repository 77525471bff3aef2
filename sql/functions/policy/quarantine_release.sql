create or replace function :SCHEMA.quarantine_release(fingerprint text)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_registered boolean;
  v_keys bigint[];
  v_result :SCHEMA.move_result;
begin
  perform :SCHEMA.check_text('fingerprint', quarantine_release.fingerprint, 255);
  delete from :SCHEMA.quarantine q where q.fingerprint = quarantine_release.fingerprint;
  v_registered := found;
  v_keys := array(
    select j.key from :SCHEMA.job j
    where j.quarantined_as = quarantine_release.fingerprint and j.state = 'quarantined'
    order by j.key
    for update);
  if not v_registered and v_keys = '{}' then
    perform :SCHEMA.raise_error('HR006', 'no such content is quarantined',
      jsonb_build_object('what', 'quarantine', 'id', quarantine_release.fingerprint));
  end if;
  -- Where its unique key has gone to another job, that one keeps it, and the job stays where it is.
  v_result := :SCHEMA.move_each('release', v_keys, 9223372036854775807, cardinality(v_keys));
  perform :SCHEMA.note_sweep_error('quarantine_release', f.key::text, f.error)
  from unnest(v_result.failed, v_result.errors) f(key, error)
  where f.error !~ '^23505 ';
  return v_result.done;
end;
$$;
comment on function :SCHEMA.quarantine_release is
  'Accepts a quarantined content again and makes its parked jobs available; returns how many. crash_attempt '
  'is kept, so one more crash quarantines it again. A job whose unique key another job has taken, or is '
  'about to take, stays quarantined: call it again. Errors: HR006 not_found, HR007.';
revoke all on function :SCHEMA.quarantine_release from public;
