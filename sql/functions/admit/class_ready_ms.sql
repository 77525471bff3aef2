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
      class.refilled_at_ms + ceil(greatest(0, tokens * class.window_ms - class.level) /
        class.limit_per_window)::bigint,
      at_ms)
  end;
end;
$$;
comment on function :SCHEMA.class_ready_ms is
  'When this many tokens of a rate class will have come in, counting those that are there, in ms; null while '
  'it is paused or closed.';
revoke all on function :SCHEMA.class_ready_ms from public;
