create or replace function :SCHEMA.backend_runs(runs :SCHEMA.attempt[])
returns setof :SCHEMA.backend_run
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select coalesce(a.run_id, 'r' || lpad(to_hex(a.no), 16, '0')), a.job_id, a.kind, a.attempt,
      :SCHEMA.backend_run_status(a.outcome), a.started_at_ms, a.finished_at_ms,
      coalesce(a.duration_ms, a.finished_at_ms - a.started_at_ms), a.error, a.worker
    from unnest(backend_runs.runs) with ordinality a
    order by a.ordinality;
end;
$$;
comment on function :SCHEMA.backend_runs is
  'Attempts as the backend surface shows them. One that was not opened by a claim is called r + 16 hex '
  'digits.';
revoke all on function :SCHEMA.backend_runs from public;
