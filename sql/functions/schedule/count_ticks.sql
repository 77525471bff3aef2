create or replace function :SCHEMA.count_ticks(rule :SCHEMA.schedule_rule, after_ms bigint, until_ms bigint)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  c_stretch bigint := 14 * 86400;
  v_at_s bigint := after_ms / 1000 + 1;
  v_end_s bigint := until_ms / 1000 + 1;
  v_seen_s bigint;
  v_to_s bigint;
  v_offset bigint;
  v_ticks bigint := 0;
begin
  if until_ms <= after_ms then
    return 0;
  elsif rule.every_ms is not null then
    return until_ms / rule.every_ms - after_ms / rule.every_ms;
  elsif rule.zone is null then
    return :SCHEMA.count_local(rule, v_at_s, v_end_s);
  end if;
  -- Stretch by stretch with the same offset; what the clocks show again is not counted again.
  v_seen_s := :SCHEMA.fresh_local(rule.zone, v_at_s);
  while v_at_s < v_end_s loop
    v_to_s := least(v_at_s + c_stretch, v_end_s);
    v_offset := :SCHEMA.zone_offset(rule.zone, v_at_s);
    if :SCHEMA.zone_offset(rule.zone, v_to_s) <> v_offset then
      v_to_s := :SCHEMA.zone_change(rule.zone, v_at_s, v_to_s);
    end if;
    v_ticks := v_ticks + :SCHEMA.count_local(rule, greatest(v_seen_s, v_at_s + v_offset), v_to_s + v_offset);
    v_seen_s := greatest(v_seen_s, v_to_s + v_offset);
    v_at_s := v_to_s;
  end loop;
  return v_ticks;
end;
$$;
comment on function :SCHEMA.count_ticks is
  'How many ticks a rule has after after_ms and until until_ms, both in ms since the epoch. The cost grows '
  'with the days between, not with the ticks.';
revoke all on function :SCHEMA.count_ticks from public;
