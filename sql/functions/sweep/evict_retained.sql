create or replace function :SCHEMA.evict_retained(max_rows integer default 1000)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set lock_timeout = '2s'
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now bigint := :SCHEMA.now_ms();
  v_shelved bigint[] := :SCHEMA.shelved_keys('evict_retained');
  v_keys bigint[];
begin
  perform :SCHEMA.check_max_rows(max_rows);
  v_keys := array(
    select j.key from :SCHEMA.job j
    where j.stage = 2 and j.evict_at_ms <= v_now and j.state <> 'quarantined' and j.key <> all (v_shelved)
    order by j.evict_at_ms
    limit max_rows
    for update skip locked);
  return :SCHEMA.sweep_jobs('evict_retained', v_keys);
end;
$$;
comment on function :SCHEMA.evict_retained is
  'Deletes finished jobs whose retention has lapsed. Quarantined jobs stay. Returns how many. A row that '
  'can''t be deleted is left and named in sweep_error. Errors: HR007.';
revoke all on function :SCHEMA.evict_retained from public;
