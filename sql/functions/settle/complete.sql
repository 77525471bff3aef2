create or replace function :SCHEMA.complete(job_id text, lease_id text, fence bigint,
  actual_weight integer default null)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  perform :SCHEMA.ack(complete.job_id, complete.lease_id, complete.fence, 'success',
    actual_weight => complete.actual_weight);
end;
$$;
comment on function :SCHEMA.complete is
  'Ends an attempt with success inside the caller''s transaction. HR005 lease_rejected obliges the caller to '
  'roll back: the fence then undoes the business writes too. Errors: HR005, HR007.';
revoke all on function :SCHEMA.complete from public;
