create or replace function :SCHEMA.enqueue(
  kind text,
  payload jsonb default '{}',
  queue text default 'default',
  partition_key text default '',
  rate_class text default null,
  rate_classes text[] default null,
  priority integer default 0,
  weight integer default 1,
  scheduled_at timestamptz default null,
  delay interval default null,
  max_attempts integer default 25,
  unique_key text default null,
  unique_window interval default null,
  unique_scope text default 'kind',
  unique_replace text[] default null,
  unique_debounce interval default null,
  tags text[] default null,
  headers jsonb default null,
  retention interval default null,
  timeout interval default null,
  deadline timestamptz default null,
  id text default null,
  sticky_worker text default null,
  pending boolean default false,
  schema_version integer default 1
)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_variable
declare
  v_placed record;
begin
  -- Without what is usual anyway, so that it can go the short way.
  select e.* into v_placed
  from :SCHEMA.enqueue_many(json_build_array(jsonb_strip_nulls(jsonb_build_object(
    'kind', kind,
    'payload_base64', translate(encode(convert_to(coalesce(payload, 'null')::text, 'UTF8'), 'base64'), E'\n',
      ''),
    'queue', queue, 'partition_key', partition_key, 'rate_class', rate_class, 'rate_classes', rate_classes,
    'priority', priority, 'weight', nullif(weight, 1),
    'scheduled_at_ms', :SCHEMA.instant_ms('scheduled_at', scheduled_at),
    'delay_ms', :SCHEMA.interval_ms('delay', delay),
    'max_attempts', max_attempts, 'unique_key', unique_key,
    'unique_window_ms', :SCHEMA.interval_ms('unique_window', unique_window),
    'unique_scope', nullif(unique_scope, 'kind'), 'unique_replace', unique_replace,
    'unique_debounce_ms', :SCHEMA.interval_ms('unique_debounce', unique_debounce),
    'tags', tags,
    'retention_ms', :SCHEMA.interval_ms('retention', retention),
    'timeout_ms', :SCHEMA.interval_ms('timeout', timeout),
    'deadline_ms', :SCHEMA.instant_ms('deadline', deadline),
    'id', id, 'sticky_worker', sticky_worker, 'pending', nullif(pending, false), 'schema_version',
      schema_version))
    || jsonb_build_object('headers', headers)), 'report') e;
  if v_placed.disposition in ('id_conflict', 'quarantined', 'backpressure') then
    perform :SCHEMA.raise_refusal(array[cast(row(1, null, v_placed.id, v_placed.disposition,
      v_placed.existing_id, v_placed.replaced, v_placed.detail) as :SCHEMA.placed_job)]);
  end if;
  return coalesce(v_placed.existing_id, v_placed.id);
end;
$$;
comment on function :SCHEMA.enqueue is
  'Enqueues one job and returns its id; where its unique key is taken, the id of the job that has it. '
  'Options by name, times as intervals and timestamps; priority: higher first. Transactions that enqueue the '
  'same unique keys or ids one by one in differing orders may deadlock: one fails with 40P01, has written '
  'nothing and may be repeated. Sort such calls, or use enqueue_many, which sorts its batch. Errors: HR002 '
  'id_conflict, HR003 quarantined, HR004 backpressure, HR007 invalid.';
revoke all on function :SCHEMA.enqueue from public;
