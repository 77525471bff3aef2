create or replace function :SCHEMA.job_fields()
returns text[]
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select array['id', 'kind', 'schema_version', 'payload', 'payload_base64', 'queue', 'partition_key',
    'rate_class', 'rate_classes', 'weight', 'fingerprint', 'priority', 'max_attempts', 'scheduled_at_ms',
      'delay_ms', 'timeout_ms',
    'deadline_ms', 'retention_ms', 'unique_key', 'unique_key_base64', 'unique_window_ms', 'unique_scope',
    'unique_replace', 'unique_debounce_ms', 'headers', 'tags', 'pending', 'sticky_worker',
      'periodic_schedule_id',
    'periodic_tick_ms'];
$$;
comment on function :SCHEMA.job_fields is 'The keys that a job in enqueue_many may have.';
revoke all on function :SCHEMA.job_fields from public;
