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
  v_window :SCHEMA.lane_window := :SCHEMA.lanes_of(queues, worker, greatest(64, capacity));
  v_lanes :SCHEMA.lane_start[] := v_window.lanes;
  v_usable :SCHEMA.lane_choice;
  v_round :SCHEMA.gate_round;
  v_rounds integer := 0;
  v_vain integer := 0;
  v_taken bigint[] := '{}';
  v_left integer := capacity;
  v_lines integer;
  v_look boolean := false;
  v_looked boolean := false;
begin
  if cardinality(v_lanes) = 1 and cardinality(queues) = 1 and quantum is null
    and not (flags.classes or flags.ceilings or flags.quarantine)
  then
    v_pass := :SCHEMA.choose_head(v_lanes[1], capacity, at_ms);
    if v_pass.refusals is not null then
      return v_pass;
    end if;
  end if;
  v_pass.lanes := v_lanes;
  v_pass.crowded := v_window.crowded;
  v_pass.quantum := quantum;
  v_pass.partial := false;
  v_pass.refusals := '{}';
  v_pass.held := '{}';
  v_pass.asked := '{}';
  v_pass.dry := '{}';
  v_pass.cut := '{}';
  if cardinality(queues) > 1 then
    v_pass.shares := :SCHEMA.share_starts(queues);
  end if;
  -- Where limits have closed no line lately, they are asked only once a round has met one; a quantum allows
  -- no second round.
  if v_lanes <> '{}' and (flags.classes or flags.ceilings) then
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
    v_rounds := v_rounds + 1;
    v_round := :SCHEMA.draw_round(v_lanes, v_left, quantum, v_pass.shares, v_taken);
    v_pass := :SCHEMA.judge_round(v_pass, v_round, flags, at_ms);
    v_left := capacity - coalesce(cardinality((v_pass.chosen).keys), 0);
    if v_pass.shares is not null then
      v_pass.shares := :SCHEMA.share_ends(v_pass.shares, v_pass.admitted, v_pass.lanes);
    end if;
    exit when v_left = 0 and v_rounds = 1 and quantum is null and not v_pass.crowded
      and cardinality((v_round.drawn).keys) = cardinality((v_round.picked).keys)
      and (v_round.share is not null or not exists (select from unnest(v_round.asked) l where l.most = 0));

    v_taken := v_taken || (v_round.picked).keys;
    v_pass := :SCHEMA.note_round(v_pass, v_round, v_taken);
    -- With a quantum nobody gets a second turn; if all were refused, nobody has had a first.
    exit when quantum is not null and ((v_pass.chosen).keys is not null or v_pass.closed = '{}');
    v_lanes := array(
      select l from unnest(v_lanes) l
      where l.place <> all (v_pass.dry) and l.place <> all (v_pass.closed));
    v_look := v_pass.closed <> '{}' and not v_looked;
    if coalesce(cardinality(v_lanes), 0) = v_lines then
      v_vain := v_vain + 1;
    end if;
  end loop;
  -- Where no line is left, each has had all that it could have, and none is owed a turn.
  v_pass.partial := v_pass.partial and coalesce(cardinality(v_lanes), 0) > 0;
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
