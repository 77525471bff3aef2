create or replace function :SCHEMA.clear_queue(queue text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  delete from :SCHEMA.queue q where q.queue = clear_queue.queue;
  delete from :SCHEMA.queue_share s where s.queue = clear_queue.queue;
  delete from :SCHEMA.concurrency_limit c where c.queue = clear_queue.queue;
  delete from :SCHEMA.archive_policy p where p.queue = clear_queue.queue;
  delete from :SCHEMA.queue_sample s where s.queue = clear_queue.queue;
  delete from :SCHEMA.partition p where p.queue = clear_queue.queue;
  perform :SCHEMA.roll_up_tallies(10000);
  delete from :SCHEMA.queue_minute m where m.queue = clear_queue.queue;
  delete from :SCHEMA.queue_depth d where d.queue = clear_queue.queue and d.depth = 0;
  -- A producer may be about to rely on a line that it sees: the janitor takes them when that is safe, soon.
  update :SCHEMA.lane l set checked_at_ms = 0 where l.queue = clear_queue.queue;
end;
$$;
comment on function :SCHEMA.clear_queue is
  'Removes what is stored about a queue that has no unfinished jobs: settings, limits, policies, counts, '
  'samples, ledgers. Its lines go with the next runs of the janitor.';
revoke all on function :SCHEMA.clear_queue from public;
