create or replace function :SCHEMA.end_turns(pass :SCHEMA.gate_pass, at_ms bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_turn record;
  -- Turns that end in one call go to the back in their order, and behind those of calls in the same moment.
  v_back_ms bigint := greatest(at_ms, least(at_ms + 1000, (
    select max(l.served_at_ms) + 1 from unnest(pass.lanes) l)));
begin
  for v_turn in
    select l.queue, l.partition_key, array_agg(l.no) as lanes, bool_or(l.place = any (pass.cut)) as cut_short,
      coalesce(sum(c.jobs), 0) as served, coalesce(nullif(p.deficit, 0), pass.quantum) as allowed,
      row_number() over (order by min(l.place)) as place
    from unnest(pass.lanes) l
    left join (
      select o.lane, count(*) as jobs from unnest((pass.chosen).lane_of) o(lane) group by o.lane) c
      on c.lane = l.place
    left join :SCHEMA.partition p on p.queue = l.queue and p.partition_key = l.partition_key
    where l.place = any (pass.asked)
    group by l.queue, l.partition_key, p.deficit
    order by l.queue, l.partition_key
  loop
    continue when v_turn.served = 0 and v_turn.cut_short;
    if v_turn.cut_short and v_turn.served < v_turn.allowed then
      -- The capacity ended before the turn did: it goes on where it stopped.
      insert into :SCHEMA.partition (queue, partition_key, deficit)
      values (v_turn.queue, v_turn.partition_key, v_turn.allowed - v_turn.served)
      on conflict (queue, partition_key) do update set deficit = excluded.deficit;
    else
      update :SCHEMA.partition p
      set deficit = 0
      where p.queue = v_turn.queue and p.partition_key = v_turn.partition_key and p.deficit <> 0;
      perform :SCHEMA.serve_lanes(v_turn.lanes, v_back_ms + v_turn.place);
    end if;
  end loop;
end;
$$;
comment on function :SCHEMA.end_turns is
  'Deficit round robin with a configured quantum: a turn that the capacity cut short keeps what it is owed '
  'and its place; one that is over, or whose partition is empty, owes nothing and goes to the back.';
revoke all on function :SCHEMA.end_turns from public;
