create or replace function :SCHEMA.policy_backoff_ms(
  base_ms bigint, multiplier double precision, max_ms bigint, attempt integer
)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cap double precision := coalesce(nullif(max_ms, 0), 86400000);
  v_times integer := greatest(attempt, 0);
begin
  if base_ms is null then
    return null;
  elsif base_ms <= 0 then
    return 0;
  elsif base_ms >= v_cap then
    return v_cap;
  elsif multiplier <= 1 then
    return base_ms;
  elsif ln(v_cap / base_ms) / ln(multiplier) <= v_times then
    -- Compared as logarithms: the power itself may be beyond all numbers.
    return v_cap;
  end if;
  return least(v_cap, base_ms * power(multiplier, v_times) * (1 + random() / 10));
end;
$$;
comment on function :SCHEMA.policy_backoff_ms is
  'The wait before another try, in ms: base_ms times multiplier for each attempt before, and up to a tenth '
  'more; never above max_ms (0: a day). attempt counts from 0. Null without a base.';
revoke all on function :SCHEMA.policy_backoff_ms from public;
