create or replace function :SCHEMA.share_ends(
  shares :SCHEMA.queue_share[], admitted :SCHEMA.batch, lanes :SCHEMA.lane_start[]
)
returns :SCHEMA.queue_share[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select array_agg(cast(row(s.queue,
      round((s.position + coalesce(n.jobs, 0)::double precision / coalesce(w.weight, 1))::numeric, 9))
      as :SCHEMA.queue_share))
    from unnest(shares) s
    left join (
      select l.queue, count(*) as jobs
      from unnest(admitted.lane_of) a(lane)
      join unnest(lanes) l on l.place = a.lane
      group by l.queue) n on n.queue = s.queue
    left join :SCHEMA.queue w on w.queue = s.queue);
end;
$$;
comment on function :SCHEMA.share_ends is
  'Where the queues stand in the sharing once these jobs have been admitted.';
revoke all on function :SCHEMA.share_ends from public;
