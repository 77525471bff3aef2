create or replace function :SCHEMA.draw_round(
  lanes :SCHEMA.lane_start[], capacity integer, quantum integer, shares :SCHEMA.queue_share[], taken bigint[]
)
returns :SCHEMA.gate_round
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_round :SCHEMA.gate_round;
  v_drawn :SCHEMA.drawn;
  v_partitions integer := (select count(distinct l.part) from unnest(lanes) l);
begin
  if quantum is null and v_partitions <= capacity and (shares is null or v_partitions = 1) then
    v_round.asked := lanes;
    v_round.share := (capacity + v_partitions - 1) / v_partitions;
  else
    v_round.asked := :SCHEMA.allot(lanes, capacity, quantum, shares);
  end if;
  v_drawn := :SCHEMA.draw(v_round.asked, v_round.share, taken);
  v_round.dated := v_drawn.dated;
  v_round.drawn := case when v_partitions = cardinality(lanes) then v_drawn.jobs
    else :SCHEMA.merge_lines(v_drawn.jobs, lanes) end;
  v_round.picked := case when v_round.share is null
    then :SCHEMA.pick(v_round.asked, v_round.drawn, capacity, quantum, shares)
    else :SCHEMA.first_of(v_round.drawn, capacity) end;
  return v_round;
end;
$$;
comment on function :SCHEMA.draw_round is
  'Asks each of these lines for its share of the capacity, and picks those that are to run if no policy '
  'objects.';
revoke all on function :SCHEMA.draw_round from public;
