create or replace function :SCHEMA.pick(
  lanes :SCHEMA.lane_start[], drawn :SCHEMA.batch, capacity integer, quantum integer,
    shares :SCHEMA.queue_share[]
)
returns :SCHEMA.batch
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_picked :SCHEMA.batch;
begin
  with ranked as (
    select r.*,
      -- Without a quantum the partitions take turns job by job; with one, each takes its turn whole, longest
      -- waiting first.
      row_number() over (
        partition by r.queue
        order by case when pick.quantum is null then r.ordinality end, r.served_at_ms, r.part, r.rank) as turn
    from (
      select d.*, l.queue, l.part, l.served_at_ms, max(l.most) over (partition by l.part) as most,
        row_number() over (partition by l.part order by d.ordinality) as rank
      from rows from (unnest(drawn.places), unnest(drawn.keys), unnest(drawn.lane_of), unnest(drawn.weights),
        unnest(drawn.times)) with ordinality d(place, key, lane, weight, due_ms, ordinality)
      join unnest(lanes) l on l.place = d.lane) r
    where r.rank <= r.most
  )
  select array_agg(p.place), array_agg(p.key), array_agg(p.lane), array_agg(p.weight), array_agg(p.due_ms)
  into v_picked.places, v_picked.keys, v_picked.lane_of, v_picked.weights, v_picked.times
  from (
    select r.*
    from ranked r
    left join unnest(shares) s on s.queue = r.queue
    left join :SCHEMA.queue w on w.queue = r.queue and pick.shares is not null
    order by coalesce(s.position, 0) + (r.turn - 1)::double precision / coalesce(w.weight, 1), r.queue, r.turn
    limit capacity) p;
  return v_picked;
end;
$$;
comment on function :SCHEMA.pick is
  'The jobs to admit of those drawn, if no policy objects, in the order in which they are to run, where '
  'queues have shares or there is a quantum: by weight among queues, and within a queue as they were drawn, '
  'or with a quantum by turns.';
revoke all on function :SCHEMA.pick from public;
