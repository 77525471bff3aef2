create or replace function :SCHEMA.close_runs(ends :SCHEMA.run_end[], at_ms bigint)
returns bigint[]
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_closed bigint[];
begin
  delete from :SCHEMA.attempt a
  using unnest(ends) e
  where a.job_key = e.job_key and a.finished_at_ms is null and a.fence = e.fence
    and e.outcome in ('snooze', 'rate_limited', 'revoke');
  with closed as (
    update :SCHEMA.attempt a
    set finished_at_ms = close_runs.at_ms, outcome = e.outcome, error = e.error, logs = e.logs
    from unnest(ends) e
    where a.job_key = e.job_key and a.finished_at_ms is null and a.fence = e.fence
    returning a.job_key
  )
  select array_agg(c.job_key) into v_closed from closed c;
  return coalesce(v_closed, '{}');
end;
$$;
comment on function :SCHEMA.close_runs is
  'Closes the runs that claims have opened, and forgets those of hand-backs. Returns the keys of the jobs '
  'whose end is thereby written.';
revoke all on function :SCHEMA.close_runs from public;
