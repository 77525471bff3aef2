create or replace function :SCHEMA.note_round(pass :SCHEMA.gate_pass, asked :SCHEMA.lane_start[],
  share integer, drawn :SCHEMA.batch, taken bigint[], closed integer[])
returns :SCHEMA.gate_pass
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  pass.asked := pass.asked || array(select l.place from unnest(asked) l where l.most is distinct from 0);
  pass.cut := array(
    select distinct d.lane
    from (select unnest(drawn.lane_of) as lane, unnest(drawn.keys) as key) d
    where d.key not in (select t.key from unnest(taken) t(key)));
  pass.partial := pass.cut <> '{}' or exists (select from unnest(asked) l where l.most = 0);
  pass.dry := pass.dry || array(
    select l.place
    from unnest(asked) l
    left join (select d.lane, count(*) as jobs from unnest(drawn.lane_of) d(lane) group by d.lane) d
      on d.lane = l.place
    where l.most is distinct from 0 and l.place <> all (pass.cut) and l.place <> all (closed)
      and coalesce(d.jobs, 0) < coalesce(l.most, share));
  return pass;
end;
$$;
comment on function :SCHEMA.note_round is
  'Notes of a round of choose which lines were asked, which had more than was taken of them, and which had '
  'fewer than they were asked for. share: as in draw.';
revoke all on function :SCHEMA.note_round from public;
