create or replace function :SCHEMA.ack(
  job_id text,
  lease_id text,
  fence bigint,
  outcome text default 'success',
  error text default null,
  delay_ms bigint default null,
  logs jsonb default null,
  actual_weight integer default null
)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_variable
begin
  return :SCHEMA.settle_one(cast(row(null, job_id, null, lease_id, fence, outcome, error, delay_ms, logs,
    actual_weight, null, null) as :SCHEMA.ack_input));
end;
$$;
comment on function :SCHEMA.ack is
  'Ends an attempt: success, retry, skip, revoke, snooze (delay_ms needed), rate_limited, undecodable, '
  'checkpoint_stale. Returns the state reached; deleted where no row is left. Without delay_ms a retry waits '
  '1 s doubled per attempt, at most 1 h, and up to 1 s more; 0 is allowed and means at once. Errors: HR005 '
  'lease_rejected, HR007 invalid.';
revoke all on function :SCHEMA.ack from public;
