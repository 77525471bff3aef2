create or replace function :SCHEMA.backend_pop_claim_from_pool(
  pool text, worker text default 'backend', lease_ms bigint default 30000
)
returns setof :SCHEMA.backend_job
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_claims :SCHEMA.claim[];
begin
  perform :SCHEMA.check_text('pool', pool, 255);
  v_claims := array(
    select c from :SCHEMA.admit_hinted(worker, array[pool], 1, lease_ms, null, gen_random_uuid()::text) c
    where c.id is not null);
  if v_claims <> '{}' then
    perform :SCHEMA.backend_open_runs(v_claims, worker, true);
    return query select * from :SCHEMA.backend_get_job(v_claims[1].id);
  end if;
end;
$$;
comment on function :SCHEMA.backend_pop_claim_from_pool is
  'Claims what the gate would admit next from a pool, as backend_try_claim_job does: lowest priority number '
  'first. No row where nothing can run now. Errors: HR007.';
revoke all on function :SCHEMA.backend_pop_claim_from_pool from public;
