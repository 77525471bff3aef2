create or replace function :SCHEMA.choose_head(lane :SCHEMA.lane_start, capacity integer, at_ms bigint)
returns :SCHEMA.gate_pass
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pass :SCHEMA.gate_pass;
  v_drawn :SCHEMA.drawn := :SCHEMA.draw_head(lane, capacity);
  v_last integer := cardinality((v_drawn.jobs).keys);
begin
  if v_drawn.dated then
    return null;
  end if;
  v_pass.chosen := v_drawn.jobs;
  v_pass.refusals := '{}';
  if :SCHEMA.lane_is_due(lane, (v_drawn.jobs).keys[v_last], at_ms) then
    v_pass.reached := array[cast(row(lane.no, (v_drawn.jobs).times[v_last], (v_drawn.jobs).keys[v_last])
      as :SCHEMA.lane_reach)];
    v_pass.moves := true;
  end if;
  return v_pass;
end;
$$;
comment on function :SCHEMA.choose_head is
  'What choose does where there is a single line and nothing to judge its jobs by: takes its head. Null '
  'where one of them has a deadline.';
revoke all on function :SCHEMA.choose_head from public;
