create or replace function :SCHEMA.sweep_jobs(sweep text, keys bigint[])
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_result :SCHEMA.move_result := :SCHEMA.move_each(sweep, keys, :SCHEMA.now_ms() + 5000, 50);
begin
  perform :SCHEMA.clear_sweep_errors(sweep, array(
    select k from unnest(keys) k where k <> all (v_result.failed) and k <> all (v_result.left_over)));
  perform :SCHEMA.note_sweep_error(sweep, f.key::text, f.error)
  from unnest(v_result.failed, v_result.errors) f(key, error);
  return v_result.done;
end;
$$;
comment on function :SCHEMA.sweep_jobs is
  'Moves jobs, which a sweep has found and locked. Those that can''t be moved are left and named in '
  'sweep_error; how many were moved is returned.';
revoke all on function :SCHEMA.sweep_jobs from public;
