create or replace function :SCHEMA.note_round(pass :SCHEMA.gate_pass, round :SCHEMA.gate_round,
  taken bigint[])
returns :SCHEMA.gate_pass
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cut integer[];
begin
  pass.asked := pass.asked || array(select l.place from unnest(round.asked) l where l.most is distinct
    from 0);
  v_cut := array(
    select distinct d.lane
    from (select unnest((round.drawn).lane_of) as lane, unnest((round.drawn).keys) as key) d
    where d.key not in (select t.key from unnest(taken) t(key)));
  pass.partial := pass.partial or v_cut <> '{}' or exists (select from unnest(round.asked) l
    where l.most = 0);
  -- What a policy refused was not cut short by the capacity: its turn is over.
  pass.cut := array(select c from unnest(v_cut) c where c <> all (pass.closed));
  pass.dry := pass.dry || array(
    select l.place
    from unnest(round.asked) l
    left join (select d.lane, count(*) as jobs from unnest((round.drawn).lane_of) d(lane) group by d.lane) d
      on d.lane = l.place
    where l.most is distinct from 0 and l.place <> all (pass.cut) and l.place <> all (pass.closed)
      and coalesce(d.jobs, 0) < coalesce(l.most, round.share));
  return pass;
end;
$$;
comment on function :SCHEMA.note_round is
  'Notes of a round of choose which lines were asked, which had more than was taken of them, and which had '
  'fewer than they were asked for.';
revoke all on function :SCHEMA.note_round from public;
