create or replace function :SCHEMA.lane_is_due(lane :SCHEMA.lane_start, last_key bigint, at_ms bigint)
returns boolean
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return lane.moved_at_ms < at_ms - 1000
    or (lane.moved_at_ms < at_ms - 50 and abs(last_key - lane.tip_key) >= 1000);
end;
$$;
comment on function :SCHEMA.lane_is_due is
  'Whether the remembered position of a line is worth moving, its jobs having been claimed up to last_key: '
  'once a second, or sooner after a thousand jobs.';
revoke all on function :SCHEMA.lane_is_due from public;
