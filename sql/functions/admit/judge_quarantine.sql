create or replace function :SCHEMA.judge_quarantine(verdict :SCHEMA.verdict, lanes :SCHEMA.lane_start[])
returns :SCHEMA.verdict
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_bad bigint[];
begin
  v_bad := array(
    select j.key
    from :SCHEMA.job j
    join :SCHEMA.quarantine q on q.fingerprint = coalesce(j.fingerprint,
      :SCHEMA.fingerprint(j.kind, j.payload))
    where j.key = any ((verdict.admitted).keys));
  if v_bad = '{}' then
    return verdict;
  end if;
  perform :SCHEMA.quarantine_jobs(v_bad);
  return :SCHEMA.refuse(verdict, lanes, v_bad, 'quarantine', false);
end;
$$;
comment on function :SCHEMA.judge_quarantine is
  'Takes jobs with quarantined content out of line, into the state that shows it.';
revoke all on function :SCHEMA.judge_quarantine from public;
