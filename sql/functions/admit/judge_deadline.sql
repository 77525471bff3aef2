create or replace function :SCHEMA.judge_deadline(verdict :SCHEMA.verdict, lanes :SCHEMA.lane_start[])
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
  v_now bigint := :SCHEMA.now_ms();
  v_late bigint[];
begin
  v_late := array(
    select j.key from :SCHEMA.job j
    where j.key = any ((verdict.admitted).keys) and j.deadline_ms <= v_now);
  if v_late = '{}' then
    return verdict;
  end if;
  perform :SCHEMA.expire_jobs(v_late);
  return :SCHEMA.refuse(verdict, lanes, v_late, 'deadline', false);
end;
$$;
comment on function :SCHEMA.judge_deadline is
  'Archives jobs whose deadline has passed by the store''s clock.';
revoke all on function :SCHEMA.judge_deadline from public;
