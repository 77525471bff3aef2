create or replace function :SCHEMA.run_schedule_now(id text, idempotency_key text default null)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_schedule :SCHEMA.schedule;
  v_job jsonb;
  v_placed record;
begin
  perform :SCHEMA.check_text('id', run_schedule_now.id, 255);
  perform :SCHEMA.check_text('idempotency_key', coalesce(idempotency_key, ''), 255, true);
  select s.* into v_schedule from :SCHEMA.schedule s where s.id = run_schedule_now.id;
  if not found then
    perform :SCHEMA.raise_error('HR006', 'no such schedule',
      jsonb_build_object('what', 'schedule', 'id', run_schedule_now.id));
  end if;
  v_job := :SCHEMA.schedule_job(v_schedule);
  if idempotency_key <> '' then
    v_job := v_job || jsonb_build_object('unique_scope', 'global', 'unique_window_ms', 86400000,
      'unique_key_base64', encode(sha256(convert_to(jsonb_build_array('schedrun', run_schedule_now.id,
        idempotency_key)::text, 'UTF8')), 'base64'));
  end if;
  select e.* into v_placed from :SCHEMA.enqueue_many(json_build_array(v_job), 'report') e;
  if v_placed.disposition = 'duplicate' then
    return v_placed.existing_id;
  elsif v_placed.disposition <> 'inserted' then
    perform :SCHEMA.raise_refusal(array[cast(row(1, null, v_placed.id, v_placed.disposition,
      v_placed.existing_id, v_placed.replaced, v_placed.detail) as :SCHEMA.placed_job)]);
  end if;
  perform :SCHEMA.note_schedule_event(v_schedule.id, :SCHEMA.now_ms(), 1, v_placed.id, 'enqueued', 'manual',
    null);
  return v_placed.id;
end;
$$;
comment on function :SCHEMA.run_schedule_now is
  'Enqueues the job of a schedule at once, also of a paused one, and returns its id; the next tick stays. '
  'The same idempotency_key within a day returns the same id and enqueues nothing. Errors: HR003, HR004, '
  'HR006, HR007.';
revoke all on function :SCHEMA.run_schedule_now from public;
