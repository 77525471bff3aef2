create or replace function :SCHEMA.usable_lanes(lanes :SCHEMA.lane_start[], at_ms bigint)
returns :SCHEMA.lane_choice
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_choice :SCHEMA.lane_choice;
  v_classes text[];
  v_full :SCHEMA.partition[];
begin
  -- Without a lock, so this may be a call behind; what is drawn is judged under the locks (apply_policies).
  with line as materialized (
    select l.queue, l.partition_key, l.class_key from unnest(usable_lanes.lanes) l
  ), short as (
    select r.name, :SCHEMA.class_ready_ms(r, 1, usable_lanes.at_ms) as ready_ms
    from (select distinct l.class_key from line l where l.class_key <> '') k
    cross join lateral unnest(:SCHEMA.class_names(k.class_key)) n(name)
    join :SCHEMA.rate_class r on r.name = n.name
    where :SCHEMA.class_tokens(r, usable_lanes.at_ms) < 1
  ), saturated as (
    select m.queue, r.partition_key
    from (select l.queue, array_agg(l.partition_key) as partition_keys from line l group by l.queue) q
    join :SCHEMA.concurrency_limit m on m.queue = q.queue and m.on_saturated = 'queue'
    cross join lateral (
      select h.partition_key
      from :SCHEMA.held_place h
      where h.queue = m.queue and h.partition_key = any (q.partition_keys)
      group by h.partition_key
      having count(*) >= m.max_concurrent) r
  )
  select s.names, s.ready_ms, f.partitions
  into v_classes, v_choice.ready_ms, v_full
  from (select array_agg(s.name) as names, min(s.ready_ms) as ready_ms from short s) s
  cross join (
    select array_agg(cast(row(f.queue, f.partition_key, 0) as :SCHEMA.partition)) as partitions
      from saturated f) f;
  if v_classes is null and v_full is null then
    v_choice.lanes := lanes;
    return v_choice;
  end if;
  with judged as (
    select l, l.ordinality, case
        when l.class_key <> '' and :SCHEMA.class_names(l.class_key) && v_classes then 'rate_class'
        when exists (
          select from unnest(v_full) f where f.queue = l.queue and f.partition_key = l.partition_key) then
          'concurrency_limit'
      end as reason
    from unnest(usable_lanes.lanes) with ordinality l
  )
  select array_agg(usable_lanes.lanes[j.ordinality::integer] order by j.ordinality) filter
    (where j.reason is null), array_agg(cast(row((j.l).queue, j.reason,
      1) as :SCHEMA.refusal)) filter (where j.reason is not null and exists (
      select from :SCHEMA.job w
      where w.queue = (j.l).queue and w.partition_key = (j.l).partition_key
        and w.sticky_worker = (j.l).sticky_worker
        and w.class_key = (j.l).class_key and w.priority = (j.l).priority and w.stage = 1
        and (w.scheduled_at_ms, w.key) >= ((j.l).start_ms, (j.l).start_key) and w.state = 'available'))
  into v_choice.lanes, v_choice.refusals
  from judged j;
  return v_choice;
end;
$$;
comment on function :SCHEMA.usable_lanes is
  'Leaves out lines that can''t be served now, because a rate class of theirs has no token or their '
  'partition is at its ceiling: what waits there must not take the place of what can run. Counts one refusal '
  'for each with a job in it, and says when the first of the classes will have a token, in ms.';
revoke all on function :SCHEMA.usable_lanes from public;
