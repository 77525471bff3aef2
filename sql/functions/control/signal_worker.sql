create or replace function :SCHEMA.signal_worker(worker_id text, command text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('worker_id', signal_worker.worker_id, 255);
  if signal_worker.command not in ('quiet', 'resume', 'restart', 'terminate', 'resign') then
    perform :SCHEMA.raise_invalid('command', 'is unknown: ' || left(signal_worker.command, 40),
      'quiet, resume, restart, terminate, resign, or null to withdraw');
  end if;
  update :SCHEMA.worker w
  set command = signal_worker.command,
    command_incarnation = case when signal_worker.command is not null then w.incarnation end
  where w.worker_id = signal_worker.worker_id;
  if not found then
    perform :SCHEMA.raise_error('HR006', 'there is no worker ' || signal_worker.worker_id, jsonb_build_object(
      'what', 'worker', 'id', signal_worker.worker_id));
  end if;
end;
$$;
comment on function :SCHEMA.signal_worker is
  'Leaves a command for a worker, which takes it with its next heartbeat: quiet (admit no more), resume, '
  'restart (drain, then start again), terminate (drain within its grace), resign (give up duties); null '
  'withdraws. It is meant for the process that has the name now: a successor does not get it. The last one '
  'wins, each is delivered once at most, and list_workers shows it as last_command when it was; the status '
  'says what the worker made of it. Errors: HR006 not_found, HR007.';
revoke all on function :SCHEMA.signal_worker from public;
