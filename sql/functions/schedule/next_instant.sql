create or replace function :SCHEMA.next_instant(rule :SCHEMA.schedule_rule, after_ms bigint)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  c_far bigint := 93600;
  v_local_s bigint;
  v_before bigint;
  v_after bigint;
begin
  if rule.every_ms is not null then
    return (after_ms / rule.every_ms + 1) * rule.every_ms;
  end if;
  v_local_s := :SCHEMA.fresh_local(rule.zone, after_ms / 1000 + 1);
  -- Each round but the last meets a time that the clocks leave out.
  for v_round in 1..50 loop
    v_local_s := :SCHEMA.next_local(rule, v_local_s);
    if v_local_s is null or rule.zone is null then
      return v_local_s * 1000;
    end if;
    -- A zone is at most 14 hours off, so these are the offsets well before and well after; the earlier one
    -- first, because a time that occurs twice fires at its first occurrence.
    v_before := :SCHEMA.zone_offset(rule.zone, v_local_s - c_far);
    if :SCHEMA.zone_offset(rule.zone, v_local_s - v_before) = v_before then
      return (v_local_s - v_before) * 1000;
    end if;
    v_after := :SCHEMA.zone_offset(rule.zone, v_local_s + c_far);
    if :SCHEMA.zone_offset(rule.zone, v_local_s - v_after) = v_after then
      return (v_local_s - v_after) * 1000;
    end if;
    v_local_s := greatest(v_local_s + 1,
      :SCHEMA.zone_change(rule.zone, v_local_s - c_far, v_local_s + c_far) + v_after);
  end loop;
  return null;
end;
$$;
comment on function :SCHEMA.next_instant is
  'The first instant after after_ms, in ms since the epoch, that a rule names. Local times that do not exist '
  'are left out; those that occur twice count at the first.';
revoke all on function :SCHEMA.next_instant from public;
