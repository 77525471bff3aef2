create or replace function :SCHEMA.usable_lanes(lanes :SCHEMA.lane_start[], at_ms bigint)
returns :SCHEMA.lane_choice
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_choice :SCHEMA.lane_choice;
begin
  -- Without a lock, so this may be a call behind; what is drawn is judged under the locks (apply_policies).
  with judged as (
    select l, l.queue, case
        when c.name is not null then 'rate_class'
        when f.queue is not null then 'concurrency_limit'
      end as reason, c.ready_ms
    from unnest(usable_lanes.lanes) l
    left join lateral (
      select r.name, :SCHEMA.class_ready_ms(r, 1, usable_lanes.at_ms) as ready_ms
      from :SCHEMA.rate_class r
      where l.class_key <> '' and r.name = any (:SCHEMA.class_names(l.class_key))
        and :SCHEMA.class_tokens(r, usable_lanes.at_ms) < 1
      order by 2 desc nulls first
      limit 1) c on true
    left join (
      select p.queue, p.partition_key
      from (select distinct o.queue, o.partition_key from unnest(usable_lanes.lanes) o) p
      join :SCHEMA.concurrency_limit m on m.queue = p.queue and m.on_saturated = 'queue'
      where :SCHEMA.running_in(p.queue, p.partition_key) >= m.max_concurrent
    ) f on f.queue = l.queue and f.partition_key = l.partition_key
  ), counted as (
    select j.queue, j.reason, count(*) as n
    from judged j
    where j.reason is not null and exists (
      select from :SCHEMA.job w
      where w.queue = (j.l).queue and w.partition_key = (j.l).partition_key and w.sticky_worker = (j.l).sticky_worker
        and w.class_key = (j.l).class_key and w.priority = (j.l).priority and w.stage = 1
        and (w.scheduled_at_ms, w.key) >= ((j.l).start_ms, (j.l).start_key) and w.state = 'available')
    group by j.queue, j.reason
  )
  select
    (select array_agg(j.l order by (j.l).served_at_ms, (j.l).priority desc, (j.l).no) from judged j where j.reason is null),
    (select array_agg(cast(row(c.queue, c.reason, c.n) as :SCHEMA.refusal)) from counted c),
    (select min(j.ready_ms) from judged j)
  into v_choice.lanes, v_choice.refusals, v_choice.ready_ms;
  return v_choice;
end;
$$;
comment on function :SCHEMA.usable_lanes is
  'Leaves out lines that can''t be served now, because a rate class of theirs has no token or their partition is at its '
  'ceiling: what waits there must not take the place of what can run. Counts one refusal for each with a job in it, and says '
  'when the first of the classes will have a token, in ms.';
revoke all on function :SCHEMA.usable_lanes from public;
