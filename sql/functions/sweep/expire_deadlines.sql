create or replace function :SCHEMA.expire_deadlines(max_rows integer default 1000)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set lock_timeout = '2s'
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now bigint := :SCHEMA.now_ms();
  v_shelved bigint[] := :SCHEMA.shelved_keys('expire_deadlines');
  v_keys bigint[];
begin
  perform :SCHEMA.check_max_rows(max_rows);
  v_keys := array(
    select j.key from :SCHEMA.job j
    where j.stage < 2 and j.deadline_ms <= v_now and j.state in ('scheduled', 'available', 'retryable')
      and j.key <> all (v_shelved)
    order by j.deadline_ms
    limit max_rows
    for update skip locked);
  return :SCHEMA.sweep_jobs('expire_deadlines', v_keys);
end;
$$;
comment on function :SCHEMA.expire_deadlines is
  'Archives waiting jobs whose deadline has passed, so that they do not wait for the gate to meet them. '
  'Returns how many. A row that can''t be moved is left and named in sweep_error. Errors: HR007.';
revoke all on function :SCHEMA.expire_deadlines from public;
