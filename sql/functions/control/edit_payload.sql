create or replace function :SCHEMA.edit_payload(
  id text, payload bytea, schema_version integer default null, fingerprint text default null
)
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
  v_job :SCHEMA.job;
begin
  if edit_payload.payload is null then
    perform :SCHEMA.raise_invalid('payload', 'must be given', 'at most 1048576 bytes');
  elsif octet_length(edit_payload.payload) > 1048576 then
    perform :SCHEMA.raise_invalid('payload', 'is too long: ' || octet_length(edit_payload.payload)
      || ' bytes', 'at most 1048576 bytes');
  elsif edit_payload.schema_version < 1 then
    perform :SCHEMA.raise_invalid('schema_version', 'is too small: ' || edit_payload.schema_version,
      'at least 1');
  elsif edit_payload.fingerprint is not null then
    perform :SCHEMA.check_text('fingerprint', edit_payload.fingerprint, 255);
  end if;
  v_job := :SCHEMA.lock_job(edit_payload.id);
  perform :SCHEMA.check_state(v_job, 'edited',
    '{pending,scheduled,available,retryable,completed,archived,cancelled,quarantined,undecodable}');
  update :SCHEMA.job j
  set payload = edit_payload.payload,
    schema_version = coalesce(edit_payload.schema_version, j.schema_version),
    fingerprint = edit_payload.fingerprint
  where j.key = v_job.key;
end;
$$;
comment on function :SCHEMA.edit_payload is
  'Replaces the payload of a job that does not run, in its present state; schema_version null keeps the old '
  'one, fingerprint null derives it from kind and payload. Errors: HR006 not_found, HR007 where it runs or '
  'the payload is too long, 55P03 where another transaction holds the job for more than 2 s.';
revoke all on function :SCHEMA.edit_payload from public;
