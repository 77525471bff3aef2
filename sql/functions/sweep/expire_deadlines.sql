create or replace function :SCHEMA.expire_deadlines(max_rows integer default 1000)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set lock_timeout = '2s'
as $$
declare
  v_now bigint := :SCHEMA.now_ms();
  v_keys bigint[];
  v_key bigint;
  v_gone bigint := 0;
begin
  perform :SCHEMA.check_max_rows(max_rows);
  v_keys := array(
    select j.key from :SCHEMA.job j
    where j.stage < 2 and j.deadline_ms <= v_now and j.state in ('scheduled', 'available', 'retryable')
    order by j.deadline_ms
    limit max_rows
    for update skip locked);
  begin
    return :SCHEMA.expire_jobs(v_keys);
  exception when others then
    foreach v_key in array v_keys loop
      begin
        v_gone := v_gone + :SCHEMA.expire_jobs(array[v_key]);
        perform :SCHEMA.clear_sweep_error('expire_deadlines', v_key::text);
      exception when others then
        perform :SCHEMA.note_sweep_error('expire_deadlines', v_key::text, sqlerrm);
      end;
    end loop;
    return v_gone;
  end;
end;
$$;
comment on function :SCHEMA.expire_deadlines is
  'Archives waiting jobs whose deadline has passed, so that they do not wait for the gate to meet them. '
  'Returns how many. A row that can''t be moved is left and named in sweep_error.';
revoke all on function :SCHEMA.expire_deadlines from public;
