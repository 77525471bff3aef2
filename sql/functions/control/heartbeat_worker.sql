create or replace function :SCHEMA.heartbeat_worker(
  worker_id text,
  incarnation text default '',
  host text default '',
  pid integer default 0,
  queues text[] default '{}',
  concurrency integer default 0,
  inflight integer default 0,
  polls bigint default 0,
  empty_polls bigint default 0,
  status text default 'running',
  duties_active boolean default true
)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_before :SCHEMA.worker;
  v_command text;
begin
  perform :SCHEMA.check_text('worker_id', heartbeat_worker.worker_id, 255);
  perform :SCHEMA.check_text('incarnation', heartbeat_worker.incarnation, 255, true);
  perform :SCHEMA.check_text('host', heartbeat_worker.host, 255, true);
  perform :SCHEMA.check_text('status', heartbeat_worker.status, 255);
  perform :SCHEMA.check_range('pid', heartbeat_worker.pid, 0, 2147483647);
  if heartbeat_worker.queues is null or heartbeat_worker.duties_active is null then
    perform :SCHEMA.raise_invalid(case when heartbeat_worker.queues is null then 'queues'
      else 'duties_active' end, 'must be given', 'no null');
  end if;
  perform :SCHEMA.check_text('queues', q, 255, true) from unnest(heartbeat_worker.queues) q;
  perform :SCHEMA.check_range('concurrency', heartbeat_worker.concurrency, 0, 2147483647);
  perform :SCHEMA.check_range('inflight', heartbeat_worker.inflight, 0, 2147483647);
  perform :SCHEMA.check_range('polls', heartbeat_worker.polls, 0, 9223372036854775807);
  perform :SCHEMA.check_range('empty_polls', heartbeat_worker.empty_polls, 0, 9223372036854775807);
  select * into v_before from :SCHEMA.worker w where w.worker_id = heartbeat_worker.worker_id for update;
  if v_before.command_incarnation = heartbeat_worker.incarnation then
    v_command := v_before.command;
  end if;
  insert into :SCHEMA.worker as w (worker_id, incarnation, host, pid, queues, concurrency, started_at_ms,
    heartbeat_at_ms, inflight, polls, empty_polls, status, duties_active)
  values (heartbeat_worker.worker_id, heartbeat_worker.incarnation, heartbeat_worker.host,
    heartbeat_worker.pid, heartbeat_worker.queues, heartbeat_worker.concurrency, v_now, v_now,
      heartbeat_worker.inflight,
    heartbeat_worker.polls, heartbeat_worker.empty_polls, heartbeat_worker.status,
      heartbeat_worker.duties_active)
  on conflict (worker_id) do update set
    started_at_ms = case when w.incarnation = excluded.incarnation then w.started_at_ms
      else excluded.started_at_ms end,
    last_command = case when w.incarnation = excluded.incarnation
      then coalesce(v_command, w.last_command) end,
    last_command_at_ms = case
      when w.incarnation <> excluded.incarnation then null
      when v_command is not null then v_now
      else w.last_command_at_ms
    end,
    command = case when v_before.worker_id is null then w.command end,
    command_incarnation = case when v_before.worker_id is null then w.command_incarnation end,
    incarnation = excluded.incarnation, host = excluded.host, pid = excluded.pid, queues = excluded.queues,
    concurrency = excluded.concurrency, heartbeat_at_ms = excluded.heartbeat_at_ms,
      inflight = excluded.inflight,
    polls = excluded.polls, empty_polls = excluded.empty_polls, status = excluded.status,
    duties_active = excluded.duties_active;
  if heartbeat_worker.status = 'stopped' then
    -- Nobody is to be told of work in its name any more.
    delete from :SCHEMA.sleeper s where s.worker = heartbeat_worker.worker_id;
  end if;
  return v_command;
end;
$$;
comment on function :SCHEMA.heartbeat_worker is
  'Says that a worker lives and how it fares, and takes the command that waits for this incarnation of it, '
  'or null: each command is handed out once. It keeps no lease alive: only renew does. Errors: HR007.';
revoke all on function :SCHEMA.heartbeat_worker from public;
