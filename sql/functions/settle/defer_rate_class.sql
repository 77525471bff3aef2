create or replace function :SCHEMA.defer_rate_class(name text, ms bigint)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_until_ms bigint;
begin
  perform :SCHEMA.check_text('name', defer_rate_class.name, 255);
  perform :SCHEMA.check_duration('ms', defer_rate_class.ms);
  -- A class that nobody limited gets a row that limits nothing but can be deferred.
  insert into :SCHEMA.rate_class (name, limit_per_window, window_ms, burst, level, refilled_at_ms)
  values (defer_rate_class.name, 1000000000, 1000, 1000000000, 1000000000000, :SCHEMA.now_ms())
  on conflict do nothing;
  perform from :SCHEMA.rate_class r where r.name = defer_rate_class.name for update;
  update :SCHEMA.rate_class r
  set deferred_until_ms = greatest(r.deferred_until_ms, :SCHEMA.now_ms() + defer_rate_class.ms)
  where r.name = defer_rate_class.name
  returning r.deferred_until_ms into v_until_ms;
  return v_until_ms;
end;
$$;
comment on function :SCHEMA.defer_rate_class is
  'Holds a rate class back, for the whole fleet, for ms from now: what a handler does that was told to come '
  'back later. A deferral is never shortened. Returns until when, in ms. Errors: HR007.';
revoke all on function :SCHEMA.defer_rate_class from public;
