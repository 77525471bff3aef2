create or replace function :SCHEMA.judge_rate_classes(verdict :SCHEMA.verdict)
returns :SCHEMA.verdict
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now bigint;
  v_over bigint[];
begin
  -- Only the classes of these jobs: queues with other classes never wait for each other.
  verdict.charging := array(
    select r.name from :SCHEMA.rate_class r
    where r.name in (select n from unnest(verdict.demands) d cross join unnest(d.rate_classes) n)
    order by r.name
    for update);
  if verdict.charging = '{}' then
    verdict.charging := null;
    return verdict;
  end if;
  v_now := :SCHEMA.now_ms();
  if not exists (
    select from unnest(verdict.demands) d
    cross join unnest(d.rate_classes) n
    join :SCHEMA.rate_class r on r.name = n and r.name = any (verdict.charging)
    group by r.name
    having sum(d.weight) > :SCHEMA.class_tokens(r, v_now)) then
    return verdict;
  end if;
  -- What a refused job would have cost is held back too, so that a cheaper one never overtakes it in the same
  -- class. A job that costs more than the burst may go when the bucket is full, and overdraws it.
  v_over := array(
    select distinct s.key
    from (
      select c.key, r.burst, c.weight, r.tokens,
        sum(c.weight) over (partition by r.name order by c.ordinality) as wanted
      from unnest(verdict.admitted) with ordinality c
      cross join unnest(c.rate_classes) n
      join (
        select q.name, q.burst, :SCHEMA.class_tokens(q, v_now) as tokens
        from :SCHEMA.rate_class q
        where q.name = any (verdict.charging)
        offset 0) r on r.name = n) s
    where s.wanted > s.tokens and not (s.wanted = s.weight and s.weight > s.burst and s.tokens >= s.burst));
  if v_over = '{}' then
    return verdict;
  end if;
  return :SCHEMA.refuse(verdict, v_over, 'rate_class', true);
end;
$$;
comment on function :SCHEMA.judge_rate_classes is
  'Holds back jobs for which a rate class of theirs has too few tokens, under a lock on those classes, in '
  'order of name. A class without a row limits nothing.';
revoke all on function :SCHEMA.judge_rate_classes from public;
