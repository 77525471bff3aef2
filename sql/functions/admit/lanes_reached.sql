create or replace function :SCHEMA.lanes_reached(pass :SCHEMA.gate_pass, at_ms bigint)
returns :SCHEMA.lane_reach[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lane :SCHEMA.lane_start;
  v_last bigint := (pass.chosen).keys[cardinality((pass.chosen).keys)];
begin
  -- Most calls come too soon after the last move of their lines, and need not look at what they chose: one
  -- job tells well enough how far the keys have come.
  foreach v_lane in array coalesce(pass.lanes, '{}') loop
    if :SCHEMA.lane_is_due(v_lane, v_last, at_ms) then
      return array(
        select cast(row(l.no, r.due_ms, r.key) as :SCHEMA.lane_reach)
        from (
          select distinct on (c.lane) c.lane, c.due_ms, c.key
          from (
            select unnest((pass.chosen).lane_of) as lane, unnest((pass.chosen).times) as due_ms,
              unnest((pass.chosen).keys) as key) c
          order by c.lane, c.due_ms desc, c.key desc) r
        join unnest(pass.lanes) l on l.place = r.lane
        where :SCHEMA.lane_is_due(l, r.key, at_ms)
        order by l.no);
    end if;
  end loop;
  return null;
end;
$$;
comment on function :SCHEMA.lanes_reached is
  'The lines whose remembered position is worth moving, with the last job chosen from each.';
revoke all on function :SCHEMA.lanes_reached from public;
