create or replace function :SCHEMA.class_ready_ms(class :SCHEMA.rate_class, tokens numeric, at_ms bigint)
returns bigint
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when class.paused or class.limit_per_window = 0 then null
    else greatest(class.deferred_until_ms,
      greatest(class.refilled_at_ms, at_ms - greatest(0, at_ms - class.refilled_at_ms))
      + ceil(greatest(0, least(tokens, class.burst) * class.window_ms - class.level) / class.limit_per_window)::bigint,
      at_ms)
  end;
end;
$$;
comment on function :SCHEMA.class_ready_ms is
  'When a rate class will have this many tokens (its burst, where they are more), if nobody takes any, in ms; null while it is '
  'paused or closed.';
revoke all on function :SCHEMA.class_ready_ms from public;
