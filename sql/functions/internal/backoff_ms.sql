create or replace function :SCHEMA.backoff_ms(attempt integer)
returns bigint
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return least(3600000, 1000 * (1::bigint << least(greatest(backoff_ms.attempt, 0), 20)));
end;
$$;
comment on function :SCHEMA.backoff_ms is
  'The wait before another try, in ms: one second doubled with each attempt, at most one hour. No jitter.';
revoke all on function :SCHEMA.backoff_ms from public;
