create or replace function :SCHEMA.wake_workers(queues text[])
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue text;
begin
  for v_queue in
    select distinct q.queue
    from unnest(wake_workers.queues) q(queue)
    where exists (
      select from :SCHEMA.sleeper s
      where s.until_ms > :SCHEMA.now_ms() and (s.queues = '{}' or q.queue = any (s.queues)))
  loop
    perform pg_notify(:SCHEMA.channel(), v_queue);
  end loop;
end;
$$;
comment on function :SCHEMA.wake_workers is
  'Notifies of queues with new work, but only those that some worker declared to sleep on: notifications '
  'serialise commits.';
revoke all on function :SCHEMA.wake_workers from public;
