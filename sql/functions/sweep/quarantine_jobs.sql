create or replace function :SCHEMA.quarantine_jobs(keys bigint[])
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_moved bigint;
begin
  with moved as (
    update :SCHEMA.job j
    set state = 'quarantined', finalized_at_ms = v_now,
      quarantined_as = coalesce(j.fingerprint, :SCHEMA.fingerprint(j.kind, j.payload))
    where j.key = any (keys) and j.state in ('pending', 'scheduled', 'available', 'retryable')
    returning j.queue
  ), counted as (
    insert into :SCHEMA.tally (queue, at_ms, depth)
    select m.queue, v_now, - count(*) from moved m group by m.queue
  )
  select count(*) into v_moved from moved;
  return v_moved;
end;
$$;
comment on function :SCHEMA.quarantine_jobs is
  'Moves unfinished jobs, which the caller found quarantined and locked, into that state. Returns how many.';
revoke all on function :SCHEMA.quarantine_jobs from public;
