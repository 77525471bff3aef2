create or replace function :SCHEMA.delete_schedule(id text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('id', delete_schedule.id, 255);
  delete from :SCHEMA.schedule s where s.id = delete_schedule.id;
  if not found then
    perform :SCHEMA.raise_error('HR006', 'no such schedule',
      jsonb_build_object('what', 'schedule', 'id', delete_schedule.id));
  end if;
  update :SCHEMA.schedule_event e set gone_at_ms = :SCHEMA.now_ms() where e.schedule_id = delete_schedule.id;
end;
$$;
comment on function :SCHEMA.delete_schedule is
  'Deletes a schedule. Jobs that it has enqueued stay; its events stay for 30 days. Errors: HR006, HR007.';
revoke all on function :SCHEMA.delete_schedule from public;
