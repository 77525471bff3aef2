create or replace function :SCHEMA.pick(
  lanes :SCHEMA.lane_start[], drawn :SCHEMA.candidate[], capacity integer, quantum integer,
    shares :SCHEMA.queue_share[]
)
returns :SCHEMA.candidate[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    with ranked as (
      select d as candidate, d.queue, d.rank, d.priority, d.scheduled_at_ms, d.key,
        -- Without a quantum the partitions take turns job by job; with one, each takes its turn whole,
        -- longest waiting first.
        row_number() over (
          partition by d.queue
          order by case when pick.quantum is null then d.rank end, d.served_at_ms,
            case when pick.quantum is null then d.priority end desc,
            case when pick.quantum is null then d.scheduled_at_ms end,
            d.partition_key, d.rank, d.key) as place
      from unnest(drawn) d
      join (select l.queue, l.partition_key, max(l.most) as most from unnest(lanes) l group by l.queue,
        l.partition_key) l
        on l.queue = d.queue and l.partition_key = d.partition_key
      where d.rank <= l.most
    )
    select coalesce(array_agg(p.candidate order by p.position, p.place), '{}')
    from (
      select r.candidate, r.place, coalesce(s.position,
        0) + (r.place - 1)::double precision / coalesce(w.weight, 1) as position
      from ranked r
      left join unnest(shares) s on s.queue = r.queue
      left join :SCHEMA.queue w on w.queue = r.queue and pick.shares is not null
      order by 3, r.queue
      limit capacity) p);
end;
$$;
comment on function :SCHEMA.pick is
  'The jobs to admit of those drawn, if no policy objects, in the order in which they are to run: fair among '
  'partitions, by weight among queues, and within a partition by priority, due time and age.';
revoke all on function :SCHEMA.pick from public;
