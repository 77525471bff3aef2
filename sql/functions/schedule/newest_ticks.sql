create or replace function :SCHEMA.newest_ticks(
  rule :SCHEMA.schedule_rule, after_ms bigint, until_ms bigint, most integer
)
returns bigint[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from_ms bigint := after_ms;
  v_to_ms bigint := until_ms;
  v_middle_ms bigint;
begin
  if rule.every_ms is not null then
    v_from_ms := greatest(after_ms, (until_ms / rule.every_ms - most) * rule.every_ms);
  elsif :SCHEMA.count_ticks(rule, after_ms, until_ms) > most then
    -- Cron ticks are at least a second apart, so a second tells how many there are from exactly one place on.
    while v_to_ms - v_from_ms > 1000 loop
      v_middle_ms := (v_from_ms + v_to_ms) / 2;
      if :SCHEMA.count_ticks(rule, v_middle_ms, until_ms) >= most then
        v_from_ms := v_middle_ms;
      else
        v_to_ms := v_middle_ms;
      end if;
    end loop;
  end if;
  return :SCHEMA.first_ticks(rule, v_from_ms, until_ms, most);
end;
$$;
comment on function :SCHEMA.newest_ticks is
  'The newest ticks of a rule after after_ms and until until_ms, at most so many, oldest first; in ms since '
  'the epoch.';
revoke all on function :SCHEMA.newest_ticks from public;
