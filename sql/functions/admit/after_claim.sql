create or replace function :SCHEMA.after_claim(pass :SCHEMA.gate_pass, worker text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_lane record;
begin
  for v_lane in
    select distinct on (c.lane_no) c.lane_no, c.scheduled_at_ms, c.key
    from unnest(pass.chosen) c
    join unnest(pass.lanes) l on l.no = c.lane_no
    where l.moved_at_ms < v_now - 1000 or (l.moved_at_ms < v_now - 50 and abs(c.key - l.tip_key) >= 1000)
    order by c.lane_no, c.scheduled_at_ms desc, c.key desc
  loop
    perform :SCHEMA.advance_lane(v_lane.lane_no, v_lane.scheduled_at_ms, v_lane.key, v_now);
  end loop;
  if pass.shares is not null then
    -- Whoever can't have the row now leaves the ledger a little behind rather than wait for another claim.
    insert into :SCHEMA.queue_share (queue, position)
    select s.queue, s.position from unnest(pass.shares) s
    where not exists (select from :SCHEMA.queue_share o where o.queue = s.queue)
    order by s.queue
    on conflict do nothing;
    update :SCHEMA.queue_share q
    set position = greatest(q.position, s.position)
    from unnest(pass.shares) s
    where q.queue = s.queue and s.queue in (select c.queue from unnest(pass.chosen) c)
      and q.queue = any (array(
        select o.queue from :SCHEMA.queue_share o
        where o.queue in (select u.queue from unnest(pass.shares) u)
        order by o.queue
        for update skip locked));
  end if;
  if pass.quantum is not null or pass.crowded or pass.partial then
    perform :SCHEMA.rotate_lanes(pass, v_now);
  end if;
  if pass.chosen <> '{}' then
    delete from :SCHEMA.sleeper s where s.worker = after_claim.worker;
  end if;
end;
$$;
comment on function :SCHEMA.after_claim is
  'The bookkeeping behind a claim: remembered positions, shares of the queues, turns of the partitions, and '
  'the worker is awake.';
revoke all on function :SCHEMA.after_claim from public;
