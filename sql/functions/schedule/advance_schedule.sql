create or replace function :SCHEMA.advance_schedule(id text, from_ms bigint, to_ms bigint)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('id', advance_schedule.id, 255);
  perform :SCHEMA.check_range('from_ms', from_ms, 0, 315576000000000);
  perform :SCHEMA.check_range('to_ms', to_ms, from_ms + 1, 315576000000001);
  update :SCHEMA.schedule s
  set next_run_ms = advance_schedule.to_ms, failures = 0, retry_at_ms = 0, last_error = null
  where s.id = advance_schedule.id and s.next_run_ms = advance_schedule.from_ms;
  return found;
end;
$$;
comment on function :SCHEMA.advance_schedule is
  'Moves the next tick of a schedule from from_ms to to_ms (ms since the epoch). False where it is no longer '
  'from_ms: somebody else has moved it. Enqueues nothing. Errors: HR007.';
revoke all on function :SCHEMA.advance_schedule from public;
