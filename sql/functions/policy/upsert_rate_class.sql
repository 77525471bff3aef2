create or replace function :SCHEMA.upsert_rate_class(
  name text, limit_per_window bigint, window_ms bigint default 1000, burst bigint default null,
    paused boolean default false
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_old :SCHEMA.rate_class;
  v_now bigint;
  v_burst bigint := coalesce(upsert_rate_class.burst, greatest(1, upsert_rate_class.limit_per_window));
  v_closed boolean := coalesce(upsert_rate_class.paused, false) or upsert_rate_class.limit_per_window = 0;
begin
  perform :SCHEMA.check_text('name', upsert_rate_class.name, 255);
  perform :SCHEMA.check_range('limit_per_window', upsert_rate_class.limit_per_window, 0, 1000000000);
  perform :SCHEMA.check_duration('window_ms', upsert_rate_class.window_ms);
  perform :SCHEMA.check_range('burst', v_burst, 1, 1000000000);
  insert into :SCHEMA.rate_class as r (name, limit_per_window, window_ms, burst, paused, level,
    refilled_at_ms)
  values (upsert_rate_class.name, upsert_rate_class.limit_per_window, upsert_rate_class.window_ms, v_burst,
    coalesce(upsert_rate_class.paused, false),
    case when v_closed then 0 else v_burst * upsert_rate_class.window_ms::numeric end, :SCHEMA.now_ms())
  on conflict do nothing;
  if found then
    return;
  end if;
  select * into v_old from :SCHEMA.rate_class r where r.name = upsert_rate_class.name for update;
  v_now := :SCHEMA.now_ms();
  -- What has run in under the old terms is kept, as far as the new burst allows; a class that was or is
  -- closed starts empty.
  update :SCHEMA.rate_class r
  set limit_per_window = upsert_rate_class.limit_per_window,
    window_ms = upsert_rate_class.window_ms,
    burst = v_burst,
    paused = coalesce(upsert_rate_class.paused, false),
    level = case
      when v_closed or v_old.paused or v_old.limit_per_window = 0 then least(0, v_old.level)
      else least(v_burst, least(v_old.burst * v_old.window_ms::numeric,
        v_old.level + greatest(0, v_now - v_old.refilled_at_ms) * v_old.limit_per_window::numeric) /
          v_old.window_ms)
        * upsert_rate_class.window_ms
    end,
    refilled_at_ms = greatest(v_old.refilled_at_ms, v_now)
  where r.name = upsert_rate_class.name;
end;
$$;
comment on function :SCHEMA.upsert_rate_class is
  'Sets a rate class for the whole fleet: limit_per_window tokens each window_ms, at most burst at once '
  '(default: the limit); a job takes its weight of each of its classes. A limit of 0, or paused, lets '
  'nothing through; after that the bucket starts empty. A new class starts full. Errors: HR007.';
revoke all on function :SCHEMA.upsert_rate_class from public;
