create or replace function :SCHEMA.share_out(lanes :SCHEMA.lane_start[], capacity integer,
  starts :SCHEMA.queue_share[])
returns table (queue text, quota integer)
language plpgsql
stable
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select s.queue, count(*)::integer
    from (
      select q.queue
      from (
        select a.queue, coalesce(p.position, 0) as position, coalesce(w.weight, 1) as weight
        from (select distinct l.queue from unnest(share_out.lanes) l) a
        left join unnest(share_out.starts) p on p.queue = a.queue
        left join :SCHEMA.queue w on w.queue = a.queue) q
      cross join generate_series(0, share_out.capacity - 1) r(n)
      order by q.position + r.n::double precision / q.weight, q.queue
      limit share_out.capacity) s
    group by s.queue;
end;
$$;
comment on function :SCHEMA.share_out is
  'Divides the capacity among the queues that have lines: the r-th job of a queue stands at its position + '
  '(r - 1) / weight, and the lowest places win. A queue without work takes no share.';
revoke all on function :SCHEMA.share_out from public;
