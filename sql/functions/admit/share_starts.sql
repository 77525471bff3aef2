create or replace function :SCHEMA.share_starts(queues text[])
returns :SCHEMA.queue_share[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    with stored as (
      select q.queue, s.position from unnest(share_starts.queues) q(queue) left join :SCHEMA.queue_share s on
        s.queue = q.queue
    ), ahead as (
      select coalesce(max(s.position), 0) as position from stored s
    )
    select array_agg(cast(row(s.queue, greatest(coalesce(s.position, a.position),
      a.position - 1)) as :SCHEMA.queue_share))
    from stored s
    cross join ahead a);
end;
$$;
comment on function :SCHEMA.share_starts is
  'Where each queue stands in the sharing: what it has had by its weight. One that was idle is at most one '
  'round behind, so it comes back without a burst.';
revoke all on function :SCHEMA.share_starts from public;
