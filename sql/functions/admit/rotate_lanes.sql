create or replace function :SCHEMA.rotate_lanes(pass :SCHEMA.gate_pass, at_ms bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_lane bigint;
begin
  if pass.quantum is not null then
    perform :SCHEMA.end_turns(pass, at_ms);
  elsif pass.crowded then
    perform :SCHEMA.serve_lanes(array(
      select l.no from unnest(pass.lanes) l where l.place = any (pass.asked)), at_ms);
  else
    -- Some got one more than others, or were not asked: only then does it matter who is next.
    perform :SCHEMA.serve_lanes(array(
      select l.no
      from unnest(pass.lanes) l
      where l.place = any (pass.dry) or (l.queue, l.partition_key) in (
        select c.queue, c.partition_key from unnest(pass.chosen) c
        where c.rank = (select max(m.rank) from unnest(pass.chosen) m where m.queue = c.queue))), at_ms);
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
