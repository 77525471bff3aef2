create or replace function :SCHEMA.release(job_id text, lease_id text, fence bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  perform :SCHEMA.ack(release.job_id, release.lease_id, release.fence, 'rate_limited');
end;
$$;
comment on function :SCHEMA.release is
  'Hands a job back now: it is available again, in its old place, and no attempt is spent. Errors: HR005 '
  'lease_rejected, HR007.';
revoke all on function :SCHEMA.release from public;
