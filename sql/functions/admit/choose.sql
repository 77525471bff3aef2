create or replace function :SCHEMA.choose(queues text[], worker text, capacity integer, quantum integer,
  limited boolean, quarantined boolean, at_ms bigint)
returns :SCHEMA.gate_pass
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pass :SCHEMA.gate_pass;
  v_lanes :SCHEMA.lane_start[];
  v_usable :SCHEMA.lane_choice;
  v_head :SCHEMA.line_head;
  v_drawn :SCHEMA.drawn;
  v_picked :SCHEMA.candidate[];
  v_verdict :SCHEMA.verdict;
  v_taken bigint[] := '{}';
  v_left integer := capacity;
  v_alone boolean;
  v_policed boolean := limited or quarantined;
begin
  v_pass.lanes := :SCHEMA.lanes_of(queues, worker, greatest(64, capacity));
  v_pass.chosen := '{}';
  v_pass.refusals := '{}';
  v_pass.asked := '{}';
  v_pass.dry := '{}';
  v_pass.cut := '{}';
  v_pass.quantum := quantum;
  v_pass.partial := false;
  v_pass.crowded := coalesce(cardinality(v_pass.lanes) >= greatest(64, capacity) / 2, false);
  v_lanes := v_pass.lanes;
  if limited and v_lanes is not null then
    v_usable := :SCHEMA.usable_lanes(v_lanes, at_ms);
    v_lanes := v_usable.lanes;
    v_pass.refusals := coalesce(v_usable.refusals, '{}');
    v_pass.ready_ms := v_usable.ready_ms;
  end if;
  if cardinality(v_lanes) = 1 and cardinality(queues) = 1 and quantum is null and not v_policed then
    v_head := :SCHEMA.draw_head(v_lanes[1], capacity, at_ms);
    if v_head.dated is not true then
      v_pass.places := v_head.places;
      v_pass.keys := v_head.keys;
      v_pass.reached := v_head.reached;
      return v_pass;
    end if;
  end if;
  if cardinality(queues) > 1 then
    v_pass.shares := :SCHEMA.share_starts(queues);
  end if;

  -- Each round asks every line that may still have work for its share of what is left. The bound keeps a call
  -- short when many jobs drop out at the gate; what remains is met by the next call.
  for v_round in 1 .. 20 loop
    exit when v_left = 0 or coalesce(cardinality(v_lanes), 0) = 0;
    v_alone := cardinality(v_lanes) = 1 and quantum is null;
    if v_alone then
      v_lanes[1].most := v_left;
      v_drawn := :SCHEMA.draw(v_lanes, v_taken);
      v_picked := v_drawn.jobs;
    else
      v_lanes := :SCHEMA.allot(v_lanes, v_left, quantum, v_pass.shares);
      v_drawn := :SCHEMA.draw(v_lanes, v_taken);
      v_picked := case
        when v_pass.shares is null and quantum is null then :SCHEMA.pick_by_turn(v_drawn.jobs, v_left)
        else :SCHEMA.pick(v_lanes, v_drawn.jobs, v_left, quantum, v_pass.shares)
      end;
    end if;
    if v_policed or v_drawn.dated then
      v_verdict := :SCHEMA.apply_policies(v_picked, v_pass.demands, quarantined, v_drawn.dated, at_ms);
      v_pass.refusals := v_pass.refusals || v_verdict.refusals;
      v_pass.charging := v_pass.charging || v_verdict.charging;
      v_pass.own_leases := v_pass.own_leases || v_verdict.own_leases;
      v_pass.decided_ms := coalesce(v_verdict.at_ms, v_pass.decided_ms);
    else
      v_verdict.admitted := v_picked;
      v_verdict.closed := '{}';
    end if;
    v_pass.chosen := v_pass.chosen || v_verdict.admitted;
    if v_policed then
      v_pass.demands := case when v_round = 1 then v_verdict.demands
        else :SCHEMA.sum_demands(v_pass.chosen) end;
    end if;
    v_left := v_left - cardinality(v_verdict.admitted);
    if v_pass.shares is not null then
      v_pass.shares := :SCHEMA.share_ends(v_pass.shares, v_verdict.admitted);
    end if;
    exit when v_left = 0 and v_round = 1 and quantum is null and not v_pass.crowded
      and cardinality(v_drawn.jobs) = cardinality(v_picked)
      and (v_alone or not exists (select from unnest(v_lanes) l where l.most = 0));

    v_taken := v_taken || array(select p.key from unnest(v_picked) p);
    v_pass.asked := v_pass.asked || array(select l.place from unnest(v_lanes) l where l.most > 0);
    v_pass.cut := array(select distinct d.lane from unnest(v_drawn.jobs) d where d.key <> all (v_taken));
    v_pass.partial := v_pass.cut <> '{}' or exists (select from unnest(v_lanes) l where l.most = 0);
    exit when quantum is not null;
    v_pass.dry := v_pass.dry || array(
      select l.place from unnest(v_lanes) l
      where l.most > 0 and l.place <> all (v_pass.cut)
        and (select count(*) from unnest(v_drawn.jobs) d where d.lane = l.place) < l.most);
    v_lanes := array(
      select l from unnest(v_lanes) l where l.place <> all (v_pass.dry)
        and l.place <> all (v_verdict.closed));
  end loop;
  select array_agg(c.tid), array_agg(c.key), array_agg(c.lane)
  into v_pass.places, v_pass.keys, v_pass.lane_of
  from unnest(v_pass.chosen) c;
  v_pass.reached := :SCHEMA.lanes_reached(v_pass, at_ms);
  return v_pass;
end;
$$;
comment on function :SCHEMA.choose is
  'Decides which jobs of these queues may run now: draws the heads of the lines, fairly among partitions and '
  'by weight among queues, and applies the policies to them. The jobs chosen are locked. Capacity that one '
  'line can''t use goes to the others.';
revoke all on function :SCHEMA.choose from public;
