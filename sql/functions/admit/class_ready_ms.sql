create or replace function :SCHEMA.class_ready_ms(class :SCHEMA.rate_class, tokens numeric, at_ms bigint)
returns bigint
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_start_ms bigint := greatest(at_ms, class.deferred_until_ms, class.refilled_at_ms);
  v_level numeric := least(class.burst * class.window_ms::numeric,
    class.level + (v_start_ms - class.refilled_at_ms) * class.limit_per_window::numeric);
begin
  return case
    when class.paused or class.limit_per_window = 0 then null
    else v_start_ms + ceil(greatest(0, tokens * class.window_ms - v_level) / class.limit_per_window)::bigint
  end;
end;
$$;
comment on function :SCHEMA.class_ready_ms is
  'When this many tokens of a rate class will have come in, counting those that are there, in ms, if each is '
  'taken as soon as the class may give it: what comes in beyond its burst before that is lost. Null while it '
  'is paused or closed.';
revoke all on function :SCHEMA.class_ready_ms from public;
