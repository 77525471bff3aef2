create or replace function :SCHEMA.reclaim_expired(max_rows integer default 1000)
returns table (id text, crash_attempt integer, quarantined boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set lock_timeout = '2s'
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_shelved bigint[] := :SCHEMA.shelved_keys('reclaim_expired');
  v_leases bigint[];
  v_keys bigint[];
begin
  perform :SCHEMA.check_max_rows(max_rows);
  v_leases := array(
    select l.lease_no from :SCHEMA.lease l
    where l.expires_at_ms < v_now and (v_shelved = '{}' or not l.keys <@ v_shelved)
    order by l.expires_at_ms
    limit max_rows
    for update skip locked);
  v_keys := array(
    select distinct k.key from :SCHEMA.lease l cross join lateral unnest(l.keys) k(key)
    where l.lease_no = any (v_leases) and k.key <> all (v_shelved));
  -- By key, not joined: a plan made while the table was small would read all of it when it is large.
  v_keys := array(
    select j.key from :SCHEMA.job j
    where j.key = any (v_keys) and j.state = 'running' and j.lease_no = any (v_leases)
    order by j.key
    limit max_rows
    for update of j skip locked);
  perform :SCHEMA.sweep_jobs('reclaim_expired', v_keys);
  return query
    select :SCHEMA.job_id(j.key, j.id), j.crash_attempt, j.state = 'quarantined'
    from :SCHEMA.job j
    where j.key = any (v_keys) and j.state <> 'running'
    order by j.key;
  delete from :SCHEMA.lease l
  where l.lease_no = any (v_leases)
    and not exists (
      select from unnest(l.keys) k(key)
      cross join lateral (select from :SCHEMA.job o where o.key = k.key
        and o.lease_no = l.lease_no offset 0) j);
end;
$$;
comment on function :SCHEMA.reclaim_expired is
  'Takes jobs back from holders whose lease has expired: crash_attempt + 1, attempt untouched; retryable '
  'after a wait, or quarantined at the third crash. Returns the jobs taken, each to one caller only. A row '
  'that can''t be moved is left, named in sweep_error, and does not hold up the others. Errors: HR007.';
revoke all on function :SCHEMA.reclaim_expired from public;
