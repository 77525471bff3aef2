create or replace function :SCHEMA.after_claim(pass :SCHEMA.gate_pass, at_ms bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_reach :SCHEMA.lane_reach;
begin
  if pass.reached is not null then
    foreach v_reach in array pass.reached loop
      perform :SCHEMA.advance_lane(v_reach.no, v_reach.last_ms, v_reach.last_key, after_claim.at_ms);
    end loop;
  end if;
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
    where q.queue = s.queue and s.queue in (
        select l.queue from unnest((pass.chosen).lane_of) c(lane) join unnest(pass.lanes) l on l.place =
          c.lane)
      and q.queue = any (array(
        select o.queue from :SCHEMA.queue_share o
        where o.queue in (select u.queue from unnest(pass.shares) u)
        order by o.queue
        for update skip locked));
  end if;
  if pass.quantum is not null or pass.crowded or pass.partial then
    perform :SCHEMA.rotate_lanes(pass, after_claim.at_ms);
  end if;
end;
$$;
comment on function :SCHEMA.after_claim is
  'The bookkeeping behind a claim, where something moves: remembered positions, shares of the queues, turns '
  'of the partitions.';
revoke all on function :SCHEMA.after_claim from public;
