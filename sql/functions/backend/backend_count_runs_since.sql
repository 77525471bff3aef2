create or replace function :SCHEMA.backend_count_runs_since(since_ms bigint)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  perform :SCHEMA.check_range('since_ms', since_ms, -9223372036854775808, 9223372036854775807);
  return (select count(*) from :SCHEMA.attempt a where a.started_at_ms >= backend_count_runs_since.since_ms);
end;
$$;
comment on function :SCHEMA.backend_count_runs_since is
  'How many runs have started at or after an instant; exact. Errors: HR007.';
revoke all on function :SCHEMA.backend_count_runs_since from public;
