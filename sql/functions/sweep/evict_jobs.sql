create or replace function :SCHEMA.evict_jobs(keys bigint[])
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_gone bigint;
begin
  delete from :SCHEMA.job j
  where j.key = any (keys) and j.state in ('completed', 'archived', 'cancelled', 'undecodable');
  get diagnostics v_gone = row_count;
  delete from :SCHEMA.job_extra x where x.key = any (keys);
  delete from :SCHEMA.attempt a where a.job_key = any (keys);
  return v_gone;
end;
$$;
comment on function :SCHEMA.evict_jobs is 'Deletes finished jobs, which the caller has found and locked, with what belongs to them.';
revoke all on function :SCHEMA.evict_jobs from public;
