create or replace function :SCHEMA.usable_lanes(
  lanes :SCHEMA.lane_start[], flags :SCHEMA.gate_flags, at_ms bigint
)
returns :SCHEMA.lane_choice
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_choice :SCHEMA.lane_choice;
  v_short text[];
  v_full integer[] := '{}';
begin
  -- Without a lock, so this may be a call behind; what is drawn is judged under the locks (apply_policies).
  if flags.classes then
    select array_agg(r.name), min(:SCHEMA.class_ready_ms(r, 1, usable_lanes.at_ms))
    into v_short, v_choice.ready_ms
    from :SCHEMA.rate_class r
    where r.name in (select n.name from unnest(lanes) l cross join unnest(l.rate_classes) n(name))
      and :SCHEMA.class_tokens(r, usable_lanes.at_ms) < 1;
  end if;
  if flags.ceilings then
    -- Where the leases might fill the partition, the jobs of them that still run are counted.
    v_full := array(
      select f.part
      from (
        select p.part, p.queue, p.partition_key, m.max_concurrent
        from (select distinct on (l.part) l.part, l.queue, l.partition_key from unnest(lanes) l) p
        join :SCHEMA.concurrency_limit m on m.queue = p.queue and m.on_saturated = 'queue'
        where (
          select sum(cardinality(h.keys)) from :SCHEMA.lease h
          where h.queue = p.queue and h.partition_key = p.partition_key) >= m.max_concurrent
        offset 0) f
      where :SCHEMA.running_in(f.queue, f.partition_key) >= f.max_concurrent);
  end if;
  if v_short is null and v_full = '{}' then
    v_choice.lanes := lanes;
    v_choice.refusals := '{}';
    v_choice.held := '{}';
    return v_choice;
  end if;
  with judged as (
    select l, l.place, case
        when l.rate_classes && v_short then 'rate_class'
        when l.part = any (v_full) then 'concurrency_limit'
      end as reason
    from unnest(lanes) l
  )
  select array_agg(j.l order by j.place) filter (where j.reason is null),
    array_agg(j.place) filter (where j.reason is not null),
    array_agg(cast(row((j.l).queue, j.reason, 1) as :SCHEMA.refusal)) filter (
      where j.reason is not null and exists (
        select from :SCHEMA.job w
        where w.queue = (j.l).queue and w.line = (j.l).line and w.partition_key = (j.l).partition_key
          and w.sticky_worker = (j.l).sticky_worker
          and w.class_key = (j.l).class_key and w.priority = (j.l).priority and w.stage = 1
          and (w.scheduled_at_ms, w.key) >= ((j.l).start_ms, (j.l).start_key) and w.state = 'available'))
  into v_choice.lanes, v_choice.held, v_choice.refusals
  from judged j;
  return v_choice;
end;
$$;
comment on function :SCHEMA.usable_lanes is
  'Leaves out lines that can''t be served now, because a rate class of theirs has no token or their '
  'partition is at its ceiling: what waits there must not take the place of what can run. Counts one refusal '
  'for each with a job in it, and says when the first of the classes will have a token, in ms.';
revoke all on function :SCHEMA.usable_lanes from public;
