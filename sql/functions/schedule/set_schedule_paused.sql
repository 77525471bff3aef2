create or replace function :SCHEMA.set_schedule_paused(id text, paused boolean)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('id', set_schedule_paused.id, 255);
  if set_schedule_paused.paused is null then
    perform :SCHEMA.raise_invalid('paused', 'must be given', 'true, false');
  end if;
  -- Who goes on stands behind those that are due already, as if it had fallen due now.
  update :SCHEMA.schedule s
  set paused = set_schedule_paused.paused,
    retry_at_ms = case
      when s.paused and not set_schedule_paused.paused then greatest(s.retry_at_ms, :SCHEMA.now_ms())
      else s.retry_at_ms
    end
  where s.id = set_schedule_paused.id;
  if not found then
    perform :SCHEMA.raise_error('HR006', 'no such schedule',
      jsonb_build_object('what', 'schedule', 'id', set_schedule_paused.id));
  end if;
end;
$$;
comment on function :SCHEMA.set_schedule_paused is
  'Pauses a schedule or lets it go on. What becomes of the ticks of a pause is up to on_missed, as after any '
  'gap. Errors: HR006, HR007.';
revoke all on function :SCHEMA.set_schedule_paused from public;
