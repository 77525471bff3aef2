create or replace function :SCHEMA.list_workers(stale_after_ms bigint default 900000)
returns table (
  worker_id text, incarnation text, host text, pid integer, queues text[], concurrency integer,
    started_at_ms bigint,
  heartbeat_at_ms bigint, inflight integer, polls bigint, empty_polls bigint, status text,
    duties_active boolean,
  command text, last_command text, last_command_at_ms bigint
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_duration('stale_after_ms', list_workers.stale_after_ms);
  return query
    select w.worker_id, w.incarnation, w.host, w.pid, w.queues, w.concurrency, w.started_at_ms,
      w.heartbeat_at_ms, w.inflight, w.polls, w.empty_polls, w.status, w.duties_active, w.command,
        w.last_command, w.last_command_at_ms
    from :SCHEMA.worker w
    where w.heartbeat_at_ms >= :SCHEMA.now_ms() - list_workers.stale_after_ms
    order by w.heartbeat_at_ms desc, w.worker_id
    limit 10000;
end;
$$;
comment on function :SCHEMA.list_workers is
  'Workers whose last heartbeat is at most stale_after_ms old, the freshest first, at most 10,000. Errors: '
  'HR007.';
revoke all on function :SCHEMA.list_workers from public;
