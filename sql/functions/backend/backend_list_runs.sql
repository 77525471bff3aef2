create or replace function :SCHEMA.backend_list_runs(
  job_id text default null, skip bigint default 0, max_rows integer default 100
)
returns setof :SCHEMA.backend_run
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_runs :SCHEMA.attempt[];
begin
  perform :SCHEMA.check_range('offset', skip, 0, 9223372036854775807);
  perform :SCHEMA.check_range('limit', max_rows, 0, 10000);
  if job_id is null then
    v_runs := array(
      select a from :SCHEMA.attempt a
      where a.started_at_ms is not null
      order by a.started_at_ms desc, a.no desc
      offset skip limit max_rows);
  else
    v_runs := array(
      select a from :SCHEMA.attempt a
      where a.started_at_ms is not null and a.job_id = backend_list_runs.job_id
      order by a.started_at_ms desc, a.no desc
      offset skip limit max_rows);
  end if;
  return query select * from :SCHEMA.backend_runs(v_runs);
end;
$$;
comment on function :SCHEMA.backend_list_runs is
  'Runs, newest first, of one job or all: skip so many, at most max_rows (0..10000). The order is total. '
  'Errors: HR007.';
revoke all on function :SCHEMA.backend_list_runs from public;
