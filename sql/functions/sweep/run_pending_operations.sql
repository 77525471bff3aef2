create or replace function :SCHEMA.run_pending_operations(batch integer default 1000)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set lock_timeout = '2s'
as $$
#variable_conflict use_variable
declare
  v_operation :SCHEMA.operation;
  v_done bigint := 0;
  v_passes boolean;
begin
  perform :SCHEMA.check_max_rows(batch, 10000);
  for v_operation in
    select o.* from :SCHEMA.operation o
    where o.finished_at_ms is null
    order by o.updated_at_ms, o.operation_id
    limit 5
    for update skip locked
  loop
    begin
      v_done := v_done + :SCHEMA.step_operation(v_operation, batch);
    exception when others then
      -- What the server or another transaction caused passes; the rest is for a person.
      v_passes := sqlstate ~ '^(55P03|25006|40|53|57|58)';
      update :SCHEMA.operation o
      set status = case when v_passes then 'running' else 'failed' end,
        error = :SCHEMA.cut_text(sqlstate || ' ' || sqlerrm, 2048), updated_at_ms = :SCHEMA.now_ms(),
        finished_at_ms = case when not v_passes then :SCHEMA.now_ms() end
      where o.operation_id = v_operation.operation_id;
    end;
  end loop;
  return v_done;
end;
$$;
comment on function :SCHEMA.run_pending_operations is
  'Moves a batch of each of the five bulk operations that have waited longest. Any number of nodes may call '
  'it; each operation goes on where its row says. Returns how many jobs were moved. Errors: HR007.';
revoke all on function :SCHEMA.run_pending_operations from public;
