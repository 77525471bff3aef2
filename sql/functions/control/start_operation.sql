create or replace function :SCHEMA.start_operation(id text, action text, selector jsonb, dry_run boolean)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  c_most integer := 50000;
  v_states text[] := :SCHEMA.operation_states(start_operation.action);
  v_newest bigint := coalesce((select max(j.key) from :SCHEMA.job j), 0);
  v_estimated bigint := 0;
  v_found :SCHEMA.found_jobs;
  v_now bigint := :SCHEMA.now_ms();
begin
  v_found.before_key := v_newest + 1;
  -- Counts what there is, but looks at no more than 400,000 jobs.
  for v_call in 1..40 loop
    v_found := :SCHEMA.find_jobs(start_operation.selector, v_states, v_found.before_key, 10000, 10000);
    v_estimated := v_estimated + cardinality(v_found.keys);
    exit when v_found.before_key is null or v_estimated >= c_most;
  end loop;
  insert into :SCHEMA.operation (
    operation_id, action, selector, dry_run, status, estimated, estimate_capped, upto_key, before_key,
      created_at_ms,
    updated_at_ms, finished_at_ms)
  values (
    start_operation.id, start_operation.action, start_operation.selector, start_operation.dry_run,
    case when start_operation.dry_run then 'completed' else 'pending' end, least(v_estimated, c_most),
    v_found.before_key is not null, v_newest, v_newest + 1, v_now, v_now,
    case when start_operation.dry_run then v_now end)
  on conflict do nothing;
  return found;
end;
$$;
comment on function :SCHEMA.start_operation is
  'Writes down a bulk operation that was checked, with its estimate; false where there is one of this id.';
revoke all on function :SCHEMA.start_operation from public;
