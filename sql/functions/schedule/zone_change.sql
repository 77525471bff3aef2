create or replace function :SCHEMA.zone_change(zone text, from_s bigint, to_s bigint)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before bigint := from_s;
  v_after bigint := to_s;
  v_middle bigint;
  v_offset bigint := :SCHEMA.zone_offset(zone, to_s);
begin
  while v_after - v_before > 1 loop
    v_middle := (v_before + v_after) / 2;
    if :SCHEMA.zone_offset(zone, v_middle) = v_offset then
      v_after := v_middle;
    else
      v_before := v_middle;
    end if;
  end loop;
  return v_after;
end;
$$;
comment on function :SCHEMA.zone_change is
  'The first second at which a zone has the offset that it has at to_s, where its offset changes once '
  'between the two instants.';
revoke all on function :SCHEMA.zone_change from public;
