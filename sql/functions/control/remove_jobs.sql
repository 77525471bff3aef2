create or replace function :SCHEMA.remove_jobs(keys bigint[])
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_gone :SCHEMA.job[];
begin
  with gone as (
    delete from :SCHEMA.job j where j.key = any (keys) and j.state <> 'running' returning j.*
  )
  select array_agg(cast(g as :SCHEMA.job)) into v_gone from gone g;
  delete from :SCHEMA.job_extra x where x.key in (select g.key from unnest(v_gone) g);
  delete from :SCHEMA.attempt a where a.job_key in (select g.key from unnest(v_gone) g);
  insert into :SCHEMA.tally (queue, at_ms, depth)
  select g.queue, :SCHEMA.now_ms(), - count(*) from unnest(v_gone) g where g.stage < 2 group by g.queue;
  return coalesce(cardinality(v_gone), 0);
end;
$$;
comment on function :SCHEMA.remove_jobs is
  'Deletes jobs that do not run, with what belongs to them; nothing goes to the archive. Returns how many.';
revoke all on function :SCHEMA.remove_jobs from public;
