create or replace function :SCHEMA.retire_queues(max_rows integer)
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
  v_idle text[];
  v_gone bigint;
begin
  -- The row is locked while it is looked at, so a roll-up that adds to it waits and then makes it anew.
  v_idle := array(
    select d.queue from :SCHEMA.queue_depth d
    where d.depth = 0
      and not exists (select from :SCHEMA.tally t where t.queue = d.queue)
      and not exists (
        select from :SCHEMA.queue_minute m where m.queue = d.queue
          and m.minute_ms > :SCHEMA.now_ms() - 3600000)
    order by d.queue
    limit max_rows
    for update skip locked);
  delete from :SCHEMA.queue_depth d where d.queue = any (v_idle);
  get diagnostics v_gone = row_count;
  delete from :SCHEMA.queue_share s where s.queue = any (v_idle);
  delete from :SCHEMA.queue_sample s where s.queue = any (v_idle);
  delete from :SCHEMA.queue q where q.queue = any (array(
    select o.queue from :SCHEMA.queue o
    where o.queue = any (v_idle) and not o.paused and o.weight = 1 and o.max_unfinished_jobs is null
      and o.history = 'failures' and o.failed_retention_ms = 604800000
    for update skip locked));
  return v_gone;
end;
$$;
comment on function :SCHEMA.retire_queues is
  'Forgets the counters of queues that are empty and saw nothing for an hour, and settings that say what is '
  'so without them. Returns how many queues.';
revoke all on function :SCHEMA.retire_queues from public;
