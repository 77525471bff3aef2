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
declare
  v_settled :SCHEMA.settled_job[];
begin
  v_settled := :SCHEMA.settle(:SCHEMA.read_acks(json_build_array(json_build_object(
    'job_id', job_id, 'lease_id', lease_id, 'fence', fence, 'outcome', outcome, 'error', error, 'delay_ms',
      delay_ms,
    'logs', logs, 'actual_weight', actual_weight)), true));
  if v_settled = '{}' then
    perform :SCHEMA.raise_rejected(job_id);
  end if;
  return v_settled[1].state;
end;
$$;
comment on function :SCHEMA.ack is
  'Ends an attempt: success, retry, skip, revoke, snooze (delay_ms needed), rate_limited, undecodable, '
  'checkpoint_stale. Returns the state reached; deleted where no row is left. Without delay_ms a retry waits '
  '1 s doubled per attempt, at most 1 h, and up to 1 s more; 0 is allowed and means at once. Errors: HR005 '
  'lease_rejected, HR007 invalid.';
revoke all on function :SCHEMA.ack from public;
