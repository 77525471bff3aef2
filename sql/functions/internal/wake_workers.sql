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
  v_place bigint;
begin
  if not exists (select from :SCHEMA.sleeper) then
    return;
  end if;
  for v_queue in
    select distinct q.queue
    from unnest(wake_workers.queues) q(queue)
    where exists (
      select from :SCHEMA.sleeper s
      where s.until_ms > :SCHEMA.now_ms() and (s.queues = '{}' or q.queue = any (s.queues)))
  loop
    -- Of those who would notify of a queue at the same time two do, or all of them would commit one by one.
    -- Queues share 256 pairs of places, since the server has room for some thousand locks only.
    v_place := 2 * (hashtextextended(v_queue, 0) & 255);
    if pg_try_advisory_xact_lock(hashtextextended(:SCHEMA.channel(), v_place))
      or pg_try_advisory_xact_lock(hashtextextended(:SCHEMA.channel(), v_place + 1)) then
      perform pg_notify(:SCHEMA.channel(), v_queue);
    end if;
  end loop;
end;
$$;
comment on function :SCHEMA.wake_workers is
  'Notifies of queues with new work, but only those that some worker declared to sleep on, and of one queue '
  'only two transactions at a time: notifications serialise commits. What a third one brings meanwhile is '
  'found by the next poll at the latest.';
revoke all on function :SCHEMA.wake_workers from public;
