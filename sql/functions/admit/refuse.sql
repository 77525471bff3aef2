create or replace function :SCHEMA.refuse(verdict :SCHEMA.verdict, lanes :SCHEMA.lane_start[],
  keys bigint[], reason text, closes boolean)
returns :SCHEMA.verdict
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_left :SCHEMA.batch;
begin
  verdict.refusals := verdict.refusals || array(
    select cast(row(d.queue, refuse.reason, count(*)) as :SCHEMA.refusal)
    from unnest(verdict.demands) d
    cross join unnest(d.keys) k(key)
    where k.key in (select u.key from unnest(refuse.keys) u(key))
    group by d.queue);
  if closes then
    verdict.closed := verdict.closed || array(
      select distinct d.lane
      from unnest(verdict.demands) d
      cross join unnest(d.keys) k(key)
      where k.key in (select u.key from unnest(refuse.keys) u(key)));
  end if;
  -- Not in, and no subscripts: that is a look-up in a hash table and one walk, in order.
  select array_agg(j.place), array_agg(j.key), array_agg(j.lane), array_agg(j.weight), array_agg(j.due_ms)
  into v_left.places, v_left.keys, v_left.lane_of, v_left.weights, v_left.times
  from (
    select unnest((verdict.admitted).places) as place, unnest((verdict.admitted).keys) as key,
      unnest((verdict.admitted).lane_of) as lane, unnest((verdict.admitted).weights) as weight,
      unnest((verdict.admitted).times) as due_ms) j
  where j.key not in (select u.key from unnest(refuse.keys) u(key));
  verdict.admitted := v_left;
  verdict.demands := :SCHEMA.sum_demands(v_left, lanes);
  verdict.spent := null;
  return verdict;
end;
$$;
comment on function :SCHEMA.refuse is
  'Takes jobs out of a verdict, counts them by queue under the reason, and closes their lines for the rest '
  'of the call where those behind them must not pass.';
revoke all on function :SCHEMA.refuse from public;
