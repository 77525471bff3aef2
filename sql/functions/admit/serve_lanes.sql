create or replace function :SCHEMA.serve_lanes(lanes bigint[], at_ms bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_mine bigint[];
begin
  v_mine := array(select l.no from :SCHEMA.lane l where l.no = any (lanes) order by l.no for update skip
    locked);
  -- Beside a dying row that counts stands the one that will be left of the line; its turn is over, too.
  v_mine := v_mine || array(
    select l.no
    from :SCHEMA.lane first
    join :SCHEMA.lane l on l.queue = first.queue and l.partition_key = first.partition_key
      and l.sticky_worker = first.sticky_worker
      and l.class_key = first.class_key and l.priority = first.priority and l.no > first.no
    where first.no = any (v_mine) and first.dying
    for update of l skip locked);
  update :SCHEMA.lane l
  set served_at_ms = serve_lanes.at_ms
  where l.no = any (v_mine);
  -- A second row of a line has brought it to the front (open_lanes); that was its purpose.
  delete from :SCHEMA.lane l
  where l.no = any (array(
    select o.no
    from :SCHEMA.lane first
    join :SCHEMA.lane o on o.queue = first.queue and o.partition_key = first.partition_key
      and o.sticky_worker = first.sticky_worker
      and o.class_key = first.class_key and o.priority = first.priority and o.no > first.no
    where first.no = any (v_mine) and not first.dying
    for update of o skip locked));
end;
$$;
comment on function :SCHEMA.serve_lanes is
  'Puts lines behind all that have waited longer. Skips those that another claim is moving.';
revoke all on function :SCHEMA.serve_lanes from public;
