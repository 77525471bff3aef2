create or replace function :SCHEMA.allot(
  lanes :SCHEMA.lane_start[], capacity integer, quantum integer, shares :SCHEMA.queue_share[]
)
returns :SCHEMA.lane_start[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- With a quantum one more than the queue may have: that shows whether the capacity has cut the turn short.
  return (
    with quota as (
      select u.queue, allot.capacity as quota from unnest(allot.lanes) u
        where allot.shares is null group by u.queue
      union all
      select s.queue, s.quota from :SCHEMA.share_out(allot.lanes, allot.capacity, allot.shares) s
        where allot.shares is not null
    ), turn as (
      select p.part, row_number() over (partition by p.queue order by p.part) as place,
        count(*) over (partition by p.queue) as partitions
      from (select distinct u.queue, u.part from unnest(allot.lanes) u) p
    )
    select array_agg(cast(row(l.place, l.part, l.no, l.queue, l.partition_key, l.sticky_worker, l.class_key,
      l.rate_classes, l.priority, l.line, l.served_at_ms, l.start_ms, l.start_key, l.tip_key, l.moved_at_ms,
      case
        when q.quota is null or t.place > q.quota then 0
        when allot.quantum is null then ceil(q.quota::numeric / least(t.partitions, q.quota))
        else least(q.quota + 1, coalesce(nullif(d.deficit, 0), allot.quantum))
      end) as :SCHEMA.lane_start) order by l.place)
    from unnest(allot.lanes) l
    join turn t on t.part = l.part
    left join quota q on q.queue = l.queue
    left join :SCHEMA.partition d on d.queue = l.queue and d.partition_key = l.partition_key
      and allot.quantum is not null);
end;
$$;
comment on function :SCHEMA.allot is
  'How many jobs each line is asked for in a round: its queue''s share of the capacity, divided among the '
  'partitions whose turn it is; with a quantum, that, or what is left of an interrupted turn.';
revoke all on function :SCHEMA.allot from public;
