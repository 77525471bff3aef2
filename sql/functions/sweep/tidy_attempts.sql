create or replace function :SCHEMA.tidy_attempts(max_rows integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_horizon_ms bigint := v_now - 30 * 86400000::bigint;
  v_walk :SCHEMA.walk;
  v_look bigint[];
  v_old boolean;
  v_gone bigint;
begin
  insert into :SCHEMA.walk (what) values ('attempt') on conflict do nothing;
  select w.* into v_walk from :SCHEMA.walk w where w.what = 'attempt' for update skip locked;
  if not found or v_walk.rests_until_ms > v_now then
    return 0;
  end if;
  -- Jobs may be kept for years, and their history with them: it is walked past in steps, not looked through
  -- at each call.
  select array_agg(n.no order by n.no), bool_or(n.finished_at_ms < v_horizon_ms) into v_look, v_old
  from (
    select a.no, a.finished_at_ms from :SCHEMA.attempt a
    where a.no > v_walk.position
    order by a.no
    limit max_rows * 5) n;
  delete from :SCHEMA.attempt a
  where a.no = any (array(
    select o.no from :SCHEMA.attempt o
    where o.no = any (v_look) and o.finished_at_ms < v_horizon_ms
      and not exists (select from :SCHEMA.job j where j.key = o.job_key offset 0)
    for update skip locked));
  get diagnostics v_gone = row_count;
  update :SCHEMA.walk w
  set position = case when v_old then v_look[cardinality(v_look)] else 0 end,
    rests_until_ms = case when v_old then 0 else v_now + 3600000 end
  where w.what = 'attempt';
  return v_gone;
end;
$$;
comment on function :SCHEMA.tidy_attempts is
  'Removes history of 30 days whose job is gone, in one walk an hour over all of it, a step a call.';
revoke all on function :SCHEMA.tidy_attempts from public;
