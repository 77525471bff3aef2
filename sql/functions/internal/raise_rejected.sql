create or replace function :SCHEMA.raise_rejected(job_id text)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform :SCHEMA.raise_error('HR005', 'the lease no longer holds the job',
    jsonb_build_object('job_id', job_id), 'stop working on it: somebody else may have it');
end;
$$;
comment on function :SCHEMA.raise_rejected is 'Raises HR005 lease_rejected for a job.';
revoke all on function :SCHEMA.raise_rejected from public;
