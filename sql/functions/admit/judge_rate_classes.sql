create or replace function :SCHEMA.judge_rate_classes(
  verdict :SCHEMA.verdict, lanes :SCHEMA.lane_start[]
)
returns :SCHEMA.verdict
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_closed integer[];
  v_over bigint[];
begin
  -- Where a class is out of tokens, nothing of the line can run, and what it would have cost in its other
  -- classes is not held back from those that can.
  select array_agg(d.lane), min(:SCHEMA.class_ready_ms(r, 1, verdict.at_ms)) into v_closed, verdict.ready_ms
  from unnest(verdict.demands) d
  join :SCHEMA.rate_class r on r.name = any (d.rate_classes)
  where r.name = any (verdict.charging) and :SCHEMA.class_tokens(r, verdict.at_ms) < 1;
  if v_closed is not null then
    v_over := array(
      select k.key from unnest(verdict.demands) d cross join unnest(d.keys) k(key)
        where d.lane = any (v_closed));
    verdict := :SCHEMA.refuse(verdict, lanes, v_over, 'rate_class', true);
  end if;

  -- Otherwise what a refused job would have cost is held back too, so that a cheaper one never overtakes it
  -- in the same class. A job that costs more than the burst may go when the bucket is full, and overdraws it.
  v_over := array(
    select distinct s.key
    from (
      select j.key, r.burst, j.weight, r.tokens,
        sum(j.weight) over (partition by r.name order by j.ordinality) as wanted
      from rows from (unnest((verdict.admitted).keys), unnest((verdict.admitted).lane_of),
        unnest((verdict.admitted).weights)) with ordinality j(key, lane, weight, ordinality)
      join (
        select d.lane, q.name, q.burst, :SCHEMA.class_tokens(q, verdict.at_ms) as tokens
        from unnest(verdict.demands) d
        join :SCHEMA.rate_class q on q.name = any (d.rate_classes) and q.name = any (verdict.charging)
        offset 0) r on r.lane = j.lane) s
    where s.wanted > s.tokens and not (s.wanted = s.weight and s.weight > s.burst and s.tokens >= s.burst));
  if v_over <> '{}' then
    verdict := :SCHEMA.refuse(verdict, lanes, v_over, 'rate_class', true);
  end if;
  return verdict;
end;
$$;
comment on function :SCHEMA.judge_rate_classes is
  'Holds back jobs for which a rate class of theirs has too few tokens, and says when the first of the '
  'classes that have none will have one, in ms. The caller has locked the classes.';
revoke all on function :SCHEMA.judge_rate_classes from public;
