create or replace function :SCHEMA.is_quarantined(job :SCHEMA.job)
returns boolean
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (select from :SCHEMA.quarantine) and exists (
    select from :SCHEMA.quarantine q
    where q.fingerprint = coalesce(job.fingerprint, :SCHEMA.fingerprint(job.kind, job.payload)));
end;
$$;
comment on function :SCHEMA.is_quarantined is 'Whether the content of a job is quarantined.';
revoke all on function :SCHEMA.is_quarantined from public;
