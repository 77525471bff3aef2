create or replace function :SCHEMA.judge_rate_classes(verdict :SCHEMA.verdict)
returns :SCHEMA.verdict
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_over bigint[];
begin
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
        select q.name, q.burst, :SCHEMA.class_tokens(q, verdict.at_ms) as tokens
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
  'Holds back jobs for which a rate class of theirs has too few tokens. The caller has locked the classes.';
revoke all on function :SCHEMA.judge_rate_classes from public;
