create or replace function :SCHEMA.upsert_schedule(
  id text,
  spec text,
  kind text,
  payload jsonb default '{}',
  queue text default 'default',
  partition_key text default '',
  rate_class text default null,
  rate_classes text[] default null,
  priority integer default 0,
  weight integer default 1,
  max_attempts integer default 25,
  timeout_ms bigint default null,
  retention_ms bigint default null,
  headers jsonb default null,
  tags text[] default null,
  sticky_worker text default null,
  schema_version integer default 1,
  on_missed text default 'skip',
  backfill_limit integer default 1,
  grace_ms bigint default 60000,
  paused boolean default null,
  payload_bytes bytea default null
)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  v_rule :SCHEMA.schedule_rule;
  v_job :SCHEMA.job_input;
  v_old :SCHEMA.schedule;
  v_now bigint;
  v_next_ms bigint;
begin
  perform :SCHEMA.check_text('id', id, 255);
  if on_missed is null or on_missed not in ('skip', 'run_once', 'backfill') then
    perform :SCHEMA.raise_invalid('on_missed', 'is unknown', 'skip, run_once, backfill');
  end if;
  perform :SCHEMA.check_range('backfill_limit', backfill_limit, (on_missed = 'backfill')::integer, 1000);
  perform :SCHEMA.check_duration('grace_ms', grace_ms);
  v_rule := :SCHEMA.read_spec(spec);
  v_job := (:SCHEMA.read_jobs(json_build_array(jsonb_strip_nulls(jsonb_build_object(
    'kind', kind,
    'payload_base64', translate(encode(coalesce(payload_bytes,
      convert_to(coalesce(payload, 'null')::text, 'UTF8')), 'base64'), E'\n', ''),
    'queue', queue, 'partition_key', partition_key, 'rate_class', rate_class, 'rate_classes', rate_classes,
    'priority', priority, 'weight', weight, 'max_attempts', max_attempts, 'timeout_ms', timeout_ms,
    'retention_ms', retention_ms, 'tags', tags, 'sticky_worker', sticky_worker, 'schema_version',
      schema_version))
    || jsonb_build_object('headers', headers))))[1];
  perform :SCHEMA.check_jobs(array[v_job]);

  select s.* into v_old from :SCHEMA.schedule s where s.id = upsert_schedule.id for update;
  v_now := :SCHEMA.now_ms();
  v_next_ms := :SCHEMA.next_instant(v_rule, v_now);
  if v_next_ms is null then
    perform :SCHEMA.raise_invalid('spec', 'never fires', 'a time that exists');
  end if;
  insert into :SCHEMA.schedule as s (
    id, spec, on_missed, backfill_limit, grace_ms, paused, next_run_ms, kind, payload, schema_version, queue,
    partition_key, rate_classes, priority, weight, max_attempts, timeout_ms, retention_ms, headers, tags,
      sticky_worker)
  values (
    id, spec, on_missed, backfill_limit, grace_ms, coalesce(paused, false), v_next_ms, v_job.kind,
      v_job.payload,
    v_job.schema_version, v_job.queue, v_job.partition_key, v_job.rate_classes, v_job.priority, v_job.weight,
    v_job.max_attempts, v_job.timeout_ms, v_job.retention_ms, v_job.headers, v_job.tags, v_job.sticky_worker)
  on conflict on constraint schedule_pkey do update
  set spec = excluded.spec, on_missed = excluded.on_missed, backfill_limit = excluded.backfill_limit,
    grace_ms = excluded.grace_ms, paused = coalesce(upsert_schedule.paused, s.paused),
    next_run_ms = case when s.spec = excluded.spec then s.next_run_ms else excluded.next_run_ms end,
    failures = 0, retry_at_ms = case when s.paused and not upsert_schedule.paused then v_now else 0 end,
    last_error = null, kind = excluded.kind, payload = excluded.payload,
    schema_version = excluded.schema_version, queue = excluded.queue, partition_key = excluded.partition_key,
    rate_classes = excluded.rate_classes, priority = excluded.priority, weight = excluded.weight,
    max_attempts = excluded.max_attempts, timeout_ms = excluded.timeout_ms,
      retention_ms = excluded.retention_ms,
    headers = excluded.headers, tags = excluded.tags, sticky_worker = excluded.sticky_worker
  returning s.next_run_ms into v_next_ms;
  if v_old.id is not null then
    if v_old.spec <> spec and v_old.next_run_ms <= v_now then
      perform :SCHEMA.note_missed(id, v_old.next_run_ms, 1, 'skipped', 'spec_changed');
      update :SCHEMA.schedule s set missed_ticks = s.missed_ticks + 1 where s.id = upsert_schedule.id;
    end if;
  else
    update :SCHEMA.schedule_event e
    set gone_at_ms = null
    where e.schedule_id = upsert_schedule.id and e.gone_at_ms is not null;
  end if;
  return v_next_ms;
end;
$$;
comment on function :SCHEMA.upsert_schedule is
  'Makes a schedule or changes it, and returns its next tick in ms since the epoch. It never fires a tick by '
  'itself. With the same spec the next tick stays, also one that is due; paused stays too unless it is '
  'given. on_missed says what becomes of ticks noticed grace_ms late or later: skip drops them, run_once '
  'fires the newest, backfill the newest backfill_limit. The job has the limits of enqueue; payload_bytes '
  'stands in for payload. Errors: HR007.';
revoke all on function :SCHEMA.upsert_schedule from public;
