create or replace function :SCHEMA.judge_deadline(verdict :SCHEMA.verdict)
returns :SCHEMA.verdict
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_late bigint[];
  v_now bigint;
begin
  if not exists (select from unnest(verdict.demands) d where d.deadline_ms is not null) then
    return verdict;
  end if;
  v_now := :SCHEMA.now_ms();
  v_late := array(select c.key from unnest(verdict.admitted) c where c.deadline_ms <= v_now);
  if v_late = '{}' then
    return verdict;
  end if;
  perform :SCHEMA.expire_jobs(v_late);
  return :SCHEMA.refuse(verdict, v_late, 'deadline', false);
end;
$$;
comment on function :SCHEMA.judge_deadline is
  'Archives jobs whose deadline has passed by the store''s clock.';
revoke all on function :SCHEMA.judge_deadline from public;
