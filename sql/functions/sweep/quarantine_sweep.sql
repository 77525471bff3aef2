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
set plan_cache_mode = force_generic_plan
as $$
declare
  v_from bigint;
  v_to bigint;
  v_shelved bigint[] := :SCHEMA.shelved_keys('quarantine_sweep');
  v_again bigint[];
  v_look bigint[];
  v_keys bigint[];
  v_moved bigint;
begin
  perform :SCHEMA.check_max_rows(max_rows);
  -- New jobs of a quarantined content are refused, so each content needs one walk over the jobs that were
  -- there. It does not come by again: those that could not be moved get their other chances beside it.
  select min(q.swept_key) into v_from from :SCHEMA.quarantine q;
  v_again := array(
    select e.subject::bigint from :SCHEMA.sweep_error e
    where e.sweep = 'quarantine_sweep' and e.subject ~ '^[0-9]{1,18}$'
      and e.subject::bigint <> all (v_shelved)
    limit max_rows);
  v_look := array(select j.key from :SCHEMA.job j where j.key > v_from order by j.key limit max_rows * 10);
  v_to := v_look[cardinality(v_look)];
  v_keys := array(
    select j.key
    from :SCHEMA.job j
    where j.key = any (v_again || v_look) and j.stage < 2 and j.state <> 'running'
      and exists (
        select from :SCHEMA.quarantine q
        where q.fingerprint = coalesce(j.fingerprint, :SCHEMA.fingerprint(j.kind, j.payload)))
      and j.key <> all (v_shelved)
    order by j.key
    limit max_rows
    for update skip locked);
  if cardinality(v_keys) = max_rows then
    v_to := v_keys[max_rows];
  end if;
  v_moved := :SCHEMA.sweep_jobs('quarantine_sweep', v_keys);
  perform :SCHEMA.clear_sweep_errors('quarantine_sweep', array(
    select k from unnest(v_again) k where k <> all (v_keys)));
  update :SCHEMA.quarantine q set swept_key = v_to where q.swept_key >= v_from and q.swept_key < v_to;
  return v_moved;
end;
$$;
comment on function :SCHEMA.quarantine_sweep is
  'Moves unfinished jobs whose content is quarantined into that state, where they can be seen, instead of '
  'leaving the gate to pass over them. Looks at ten times max_rows jobs and remembers how far it came. '
  'Returns how many it moved. A row that can''t be moved is left and named in sweep_error. Errors: HR007.';
revoke all on function :SCHEMA.quarantine_sweep from public;
