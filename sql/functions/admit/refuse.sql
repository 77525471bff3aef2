create or replace function :SCHEMA.refuse(verdict :SCHEMA.verdict, keys bigint[], reason text, closes boolean)
returns :SCHEMA.verdict
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  verdict.refusals := verdict.refusals || array(
    select cast(row(c.queue, refuse.reason, count(*)) as :SCHEMA.refusal)
    from unnest(verdict.admitted) c
    where c.key = any (keys)
    group by c.queue);
  if closes then
    verdict.closed := verdict.closed || array(
      select distinct c.lane from unnest(verdict.admitted) c where c.key = any (keys));
  end if;
  -- Not in, and no subscripts: that is a look-up in a hash table and one walk, in order.
  verdict.admitted := array(
    select c from unnest(verdict.admitted) c where c.key not in (select k.key from unnest(keys) k(key)));
  verdict.demands := :SCHEMA.sum_demands(verdict.admitted);
  return verdict;
end;
$$;
comment on function :SCHEMA.refuse is
  'Takes jobs out of a verdict, counts them by queue under the reason, and closes their lines for the rest '
  'of the call where those behind them must not pass.';
revoke all on function :SCHEMA.refuse from public;
