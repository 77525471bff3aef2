create or replace function :SCHEMA.choose(queues text[], worker text, capacity integer, quantum integer,
  flags :SCHEMA.gate_flags, at_ms bigint)
returns :SCHEMA.gate_pass
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pass :SCHEMA.gate_pass;
  v_lanes :SCHEMA.lane_start[];
  v_asked :SCHEMA.lane_start[];
  v_usable :SCHEMA.lane_choice;
  v_drawn :SCHEMA.drawn;
  v_picked :SCHEMA.batch;
  v_verdict :SCHEMA.verdict;
  v_taken bigint[] := '{}';
  v_left integer := capacity;
  v_partitions integer;
  v_plain boolean;
  v_share integer;
  v_last integer;
  v_lines integer;
  v_round integer := 0;
  v_vain integer := 0;
  v_look boolean := false;
  v_looked boolean := false;
  v_policed boolean := flags.classes or flags.ceilings or flags.quarantine;
begin
  v_pass.lanes := :SCHEMA.lanes_of(queues, worker, greatest(64, capacity));
  v_pass.refusals := '{}';
  v_pass.held := '{}';
  v_pass.asked := '{}';
  v_pass.dry := '{}';
  v_pass.cut := '{}';
  v_pass.quantum := quantum;
  v_pass.partial := false;
  v_pass.crowded := coalesce(cardinality(v_pass.lanes) >= greatest(64, capacity) / 2, false);
  v_lanes := v_pass.lanes;
  if cardinality(v_lanes) = 1 and cardinality(queues) = 1 and quantum is null and not v_policed then
    v_drawn := :SCHEMA.draw_head(v_lanes[1], capacity);
    if v_drawn.dated is not true then
      v_pass.chosen := v_drawn.jobs;
      v_last := cardinality((v_drawn.jobs).keys);
      if :SCHEMA.lane_is_due(v_lanes[1], (v_drawn.jobs).keys[v_last], at_ms) then
        v_pass.reached := array[cast(row(v_lanes[1].no, (v_drawn.jobs).times[v_last],
          (v_drawn.jobs).keys[v_last]) as :SCHEMA.lane_reach)];
        v_pass.moves := true;
      end if;
      return v_pass;
    end if;
  end if;
  if cardinality(queues) > 1 then
    v_pass.shares := :SCHEMA.share_starts(queues);
  end if;
  -- Where limits have closed no line lately, they are asked only once a round has met one; a quantum allows
  -- no second round.
  if v_lanes is not null and (flags.classes or flags.ceilings) then
    v_look := quantum is not null or :SCHEMA.held_back_lately(queues, at_ms);
  end if;

  -- Each round asks every line that may still have work for its share of what is left. The bound keeps a call
  -- short when many jobs drop out at the gate; what remains is met by the next call. A round that is the last
  -- for some line doesn't count: however small the capacity, no line is out of its reach for ever.
  loop
    v_lines := coalesce(cardinality(v_lanes), 0);
    exit when v_left = 0 or v_lines = 0 or v_vain = 20;
    if v_look then
      v_usable := :SCHEMA.usable_lanes(v_lanes, flags, at_ms);
      v_lanes := v_usable.lanes;
      v_pass.held := v_usable.held;
      v_pass.refusals := v_pass.refusals || v_usable.refusals;
      v_pass.ready_ms := least(v_pass.ready_ms, v_usable.ready_ms);
      v_look := false;
      v_looked := true;
      continue;
    end if;
    v_round := v_round + 1;
    v_partitions := (select count(distinct l.part) from unnest(v_lanes) l);
    v_plain := quantum is null and v_partitions <= v_left and (v_pass.shares is null or v_partitions = 1);
    v_share := case when v_plain then (v_left + v_partitions - 1) / v_partitions end;
    v_asked := case when v_plain then v_lanes
      else :SCHEMA.allot(v_lanes, v_left, quantum, v_pass.shares) end;
    v_drawn := :SCHEMA.draw(v_asked, v_share, v_taken);
    if v_partitions < v_lines then
      v_drawn.jobs := :SCHEMA.merge_lines(v_drawn.jobs, v_asked);
    end if;
    v_picked := case when v_plain then :SCHEMA.first_of(v_drawn.jobs, v_left)
      else :SCHEMA.pick(v_asked, v_drawn.jobs, v_left, quantum, v_pass.shares) end;
    if v_policed or v_drawn.dated then
      v_verdict := :SCHEMA.apply_policies(v_picked, v_pass.lanes, v_pass.demands, flags, v_drawn.dated,
        at_ms);
      v_pass.refusals := v_pass.refusals || v_verdict.refusals;
      v_pass.ready_ms := least(v_pass.ready_ms, v_verdict.ready_ms);
      v_pass.charging := v_pass.charging || v_verdict.charging;
      v_pass.own_leases := v_pass.own_leases || v_verdict.own_leases;
      v_pass.decided_ms := coalesce(v_verdict.at_ms, v_pass.decided_ms);
      v_pass.demands := case when v_round = 1 then v_verdict.demands end;
    else
      v_verdict.admitted := v_picked;
      v_verdict.closed := '{}';
    end if;
    v_left := v_left - coalesce(cardinality((v_verdict.admitted).keys), 0);
    v_pass.chosen := case when v_round = 1 then v_verdict.admitted
      else :SCHEMA.join_batches(v_pass.chosen, v_verdict.admitted) end;
    if v_policed and v_pass.demands is null then
      v_pass.demands := :SCHEMA.sum_demands(v_pass.chosen, v_pass.lanes);
    end if;
    if v_pass.shares is not null then
      v_pass.shares := :SCHEMA.share_ends(v_pass.shares, v_verdict.admitted, v_pass.lanes);
    end if;
    exit when v_left = 0 and v_round = 1 and quantum is null and not v_pass.crowded
      and cardinality((v_drawn.jobs).keys) = cardinality(v_picked.keys)
      and (v_share is not null or not exists (select from unnest(v_asked) l where l.most = 0));

    v_taken := v_taken || v_picked.keys;
    v_pass := :SCHEMA.note_round(v_pass, v_asked, v_share, v_drawn.jobs, v_taken, v_verdict.closed);
    -- With a quantum nobody gets a second turn; if all were refused, nobody has had a first.
    exit when quantum is not null and ((v_pass.chosen).keys is not null or v_verdict.closed = '{}');
    v_lanes := array(
      select l from unnest(v_lanes) l
      where l.place <> all (v_pass.dry) and l.place <> all (v_verdict.closed));
    v_look := v_verdict.closed <> '{}' and not v_looked;
    if coalesce(cardinality(v_lanes), 0) = v_lines then
      v_vain := v_vain + 1;
    end if;
  end loop;
  v_pass.reached := :SCHEMA.lanes_reached(v_pass, at_ms);
  v_pass.moves := v_pass.reached is not null or v_pass.shares is not null or quantum is not null
    or v_pass.partial;
  return v_pass;
end;
$$;
comment on function :SCHEMA.choose is
  'Decides which jobs of these queues may run now: draws the heads of the lines, fairly among partitions and '
  'by weight among queues, and applies the policies to them. The jobs chosen are locked. Capacity that one '
  'line can''t use goes to the others.';
revoke all on function :SCHEMA.choose from public;
