create or replace function :SCHEMA.quarantine_sweep(max_rows integer default 1000)
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
  v_from bigint;
  v_to bigint;
  v_keys bigint[];
  v_key bigint;
  v_moved bigint := 0;
begin
  perform :SCHEMA.check_max_rows(max_rows);
  -- New jobs of a quarantined content are refused, so each content needs one walk over the jobs that were
  -- there.
  select min(q.swept_key) into v_from from :SCHEMA.quarantine q;
  select max(w.key) into v_to
  from (select j.key from :SCHEMA.job j where j.key > v_from order by j.key limit max_rows * 10) w;
  if v_to is null then
    return 0;
  end if;
  v_keys := array(
    select j.key
    from :SCHEMA.job j
    where j.key > v_from and j.key <= v_to and j.stage < 2 and j.state <> 'running'
      and exists (
        select from :SCHEMA.quarantine q
        where q.fingerprint = coalesce(j.fingerprint, :SCHEMA.fingerprint(j.kind, j.payload)))
    order by j.key
    limit max_rows
    for update skip locked);
  if cardinality(v_keys) = max_rows then
    v_to := v_keys[max_rows];
  end if;
  begin
    v_moved := :SCHEMA.quarantine_jobs(v_keys);
  exception when others then
    foreach v_key in array v_keys loop
      begin
        v_moved := v_moved + :SCHEMA.quarantine_jobs(array[v_key]);
        perform :SCHEMA.clear_sweep_error('quarantine_sweep', v_key::text);
      exception when others then
        perform :SCHEMA.note_sweep_error('quarantine_sweep', v_key::text, sqlerrm);
      end;
    end loop;
  end;
  update :SCHEMA.quarantine q set swept_key = v_to where q.swept_key >= v_from and q.swept_key < v_to;
  return v_moved;
end;
$$;
comment on function :SCHEMA.quarantine_sweep is
  'Moves unfinished jobs whose content is quarantined into that state, where they can be seen, instead of '
  'leaving the gate to pass over them. Looks at ten times max_rows jobs and remembers how far it came. '
  'Returns how many it moved. A row that can''t be moved is left and named in sweep_error.';
revoke all on function :SCHEMA.quarantine_sweep from public;
