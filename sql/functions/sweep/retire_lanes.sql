create or replace function :SCHEMA.retire_lanes(max_rows integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_lane bigint;
  v_gone bigint := 0;
begin
  for v_lane in
    select l.no from :SCHEMA.lane l
    where l.checked_at_ms < v_now - 600000
    order by l.checked_at_ms
    limit max_rows
    for update skip locked
  loop
    v_gone := v_gone + :SCHEMA.retire_lane(v_lane, v_now)::integer;
  end loop;
  return v_gone;
end;
$$;
comment on function :SCHEMA.retire_lanes is
  'Removes lines that have stayed empty over three visits, ten minutes apart, and second rows of a line. '
  'Returns how many.';
revoke all on function :SCHEMA.retire_lanes from public;
