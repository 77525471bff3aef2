create or replace function :SCHEMA.first_ticks(rule :SCHEMA.schedule_rule, after_ms bigint, until_ms bigint,
  most integer)
returns bigint[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tick_ms bigint := after_ms;
  v_ticks bigint[] := '{}';
begin
  while cardinality(v_ticks) < most loop
    v_tick_ms := :SCHEMA.next_instant(rule, v_tick_ms);
    exit when v_tick_ms is null or v_tick_ms > until_ms;
    v_ticks := v_ticks || v_tick_ms;
  end loop;
  return v_ticks;
end;
$$;
comment on function :SCHEMA.first_ticks is
  'The first ticks of a rule after after_ms and until until_ms, at most so many; in ms since the epoch.';
revoke all on function :SCHEMA.first_ticks from public;
