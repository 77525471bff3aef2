create or replace function :SCHEMA.class_tokens(class :SCHEMA.rate_class, at_ms bigint)
returns numeric
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when class.paused or class.limit_per_window = 0 or class.deferred_until_ms > at_ms then 0
    else least(class.burst * class.window_ms::numeric,
      class.level + greatest(0, at_ms - class.refilled_at_ms) * class.limit_per_window::numeric) /
        class.window_ms
  end;
end;
$$;
comment on function :SCHEMA.class_tokens is
  'The tokens that a rate class has at this instant; 0 while it is paused, deferred or closed, below 0 after '
  'an overdraft. A clock that steps back adds nothing.';
revoke all on function :SCHEMA.class_tokens from public;
