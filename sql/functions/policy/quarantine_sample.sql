create or replace function :SCHEMA.quarantine_sample(fingerprint text)
returns bytea
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select q.sample_payload from :SCHEMA.quarantine q where q.fingerprint = quarantine_sample.fingerprint);
end;
$$;
comment on function :SCHEMA.quarantine_sample is 'A payload of a quarantined content, for quarantine_list.';
revoke all on function :SCHEMA.quarantine_sample from public;
