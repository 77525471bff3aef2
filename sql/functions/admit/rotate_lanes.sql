create or replace function :SCHEMA.rotate_lanes(pass :SCHEMA.gate_pass, at_ms bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_turn record;
  v_lane bigint;
begin
  if pass.crowded then
    -- What can't be served must not stand before what can: there are more lines than a call looks at.
    perform :SCHEMA.serve_lanes(array(
      select l.no from unnest(pass.lanes) l where l.place = any (pass.held)), at_ms);
  end if;
  if pass.quantum is not null then
    perform :SCHEMA.end_turns(pass, at_ms);
  elsif pass.crowded then
    perform :SCHEMA.serve_lanes(array(
      select l.no from unnest(pass.lanes) l where l.place = any (pass.asked)), at_ms);
  else
    -- Some got more than others, or were not asked: only then does it matter who is next. Who got most is
    -- last.
    for v_turn in
      with got as (
        select l.queue, l.part, count(c.lane) as jobs
        from unnest(pass.lanes) l
        left join unnest((pass.chosen).lane_of) c(lane) on c.lane = l.place
        where l.place <> all (pass.dry || pass.held)
        group by l.queue, l.part
        having count(c.lane) > 0 or not bool_or(l.place = any (pass.asked))
      )
      select array_agg(l.no) as lanes, row_number() over (order by coalesce(g.jobs, 1)) - 1 as behind
      from unnest(pass.lanes) l
      left join got g on g.part = l.part
      where l.place = any (pass.dry) or g.jobs > (select min(m.jobs) from got m where m.queue = g.queue)
      group by coalesce(g.jobs, 1)
    loop
      perform :SCHEMA.serve_lanes(v_turn.lanes, at_ms + v_turn.behind);
    end loop;
  end if;
  if pass.crowded then
    for v_lane in select l.no from unnest(pass.lanes) l where l.place = any (pass.dry) loop
      perform :SCHEMA.retire_lane(v_lane, at_ms);
    end loop;
  end if;
end;
$$;
comment on function :SCHEMA.rotate_lanes is
  'Sends partitions that were served to the back of the queue of turns, and empty lines out of it where '
  'there are many.';
revoke all on function :SCHEMA.rotate_lanes from public;
