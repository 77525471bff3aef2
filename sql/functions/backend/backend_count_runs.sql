create or replace function :SCHEMA.backend_count_runs(job_id text default null)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  if backend_count_runs.job_id is null then
    return (select count(*) from :SCHEMA.attempt a where a.started_at_ms is not null);
  end if;
  return (
    select count(*) from :SCHEMA.attempt a
    where a.started_at_ms is not null and a.job_id = backend_count_runs.job_id);
end;
$$;
comment on function :SCHEMA.backend_count_runs is 'How many runs there are, of one job or all; exact.';
revoke all on function :SCHEMA.backend_count_runs from public;
