create or replace function :SCHEMA.admit_hinted(
  worker text, queues text[], capacity integer, lease_ms bigint, quantum integer default null, lease_id text default null
)
returns setof :SCHEMA.claim
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_queues text[];
  v_starts :SCHEMA.lane_start[];
  v_lanes :SCHEMA.lane_start[];
  v_drawn :SCHEMA.candidate[];
  v_chosen :SCHEMA.candidate[] := '{}';
  v_taken bigint[] := '{}';
  v_per_lane integer;
  v_next_ms bigint;
  v_now bigint;
  v_lane record;
begin
  v_queues := :SCHEMA.check_admission(worker, queues, capacity, lease_ms, quantum, lease_id);
  -- Held by every admission, so that set_queue_paused and the like can wait for those that began before them.
  lock table :SCHEMA.lease in row exclusive mode;
  v_queues := array(
    select q.queue from unnest(v_queues) q(queue)
    where not exists (select from :SCHEMA.queue p where p.queue = q.queue and p.paused));
  if capacity > 0 and v_queues <> '{}' then
    v_next_ms := :SCHEMA.bring_due(v_queues, capacity);
    v_starts := :SCHEMA.lanes_of(v_queues, worker, greatest(64, capacity));
    v_lanes := v_starts;
  end if;

  while cardinality(v_lanes) > 0 and cardinality(v_chosen) < capacity loop
    v_per_lane := coalesce(quantum,
      ceil((capacity - cardinality(v_chosen))::numeric
        / (select count(distinct (l.queue, l.partition_key)) from unnest(v_lanes) l))::integer);
    v_drawn := array(
      select d from :SCHEMA.draw(v_lanes, v_per_lane, v_taken) d
      where d.rank <= v_per_lane
      order by d.rank, d.priority desc, d.scheduled_at_ms, d.key
      limit capacity - cardinality(v_chosen));
    v_chosen := v_chosen || v_drawn;
    v_taken := array(select c.key from unnest(v_chosen) c);
    exit when quantum is not null;
    -- Whoever gave less than it was asked for has nothing left; what is left of the capacity goes to the others.
    v_lanes := array(
      select l from unnest(v_lanes) l
      where (select count(*) from unnest(v_drawn) d where d.queue = l.queue and d.partition_key = l.partition_key)
        >= v_per_lane);
  end loop;

  v_now := :SCHEMA.now_ms();
  if v_chosen <> '{}' then
    return query
      select * from :SCHEMA.claim_jobs(v_chosen, worker, coalesce(lease_id, gen_random_uuid()::text), lease_ms, v_now);
    for v_lane in
      select distinct on (c.lane_no) c.lane_no, c.scheduled_at_ms, c.key
      from unnest(v_chosen) c
      join unnest(v_starts) l on l.no = c.lane_no
      where l.moved_at_ms < v_now - 1000 or (l.moved_at_ms < v_now - 50 and abs(c.key - l.tip_key) >= 1000)
      order by c.lane_no, c.scheduled_at_ms desc, c.key desc
    loop
      perform :SCHEMA.advance_lane(v_lane.lane_no, v_lane.scheduled_at_ms, v_lane.key, v_now);
    end loop;
    delete from :SCHEMA.sleeper s where s.worker = admit_hinted.worker;
  end if;
  return query
    select null, null, null, null, null::integer, null::integer, null::integer, null::integer, null::bytea,
      null::integer, null::jsonb, null, null::bigint, null::bigint, null::jsonb, null::bytea, null::integer,
      null::text[], null::bigint, null::bigint, null::bigint, null::bigint, '{}'::jsonb, v_next_ms;
end;
$$;
comment on function :SCHEMA.admit_hinted is
  'What admit does, for drivers: the claims, and behind them one row without an id that tells in refused how many candidates '
  'were held back for which reason, and in next_due_ms when the next waiting job falls due (null: none waits for a time).';
revoke all on function :SCHEMA.admit_hinted from public;
