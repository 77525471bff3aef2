create function enqueue_batch(p_queue text, p_partition_keys text[], p_priorities smallint[], p_payloads bytea[])
returns integer
language plpgsql
set enable_seqscan = off
as $$
declare
  v_now_ms bigint := now_ms();
  v_segment smallint;
begin
  insert into lane (queue, partition_key)
  select p_queue, k.partition_key
  from (select distinct unnest(p_partition_keys)) as k (partition_key)
  where not exists (select from lane l where l.queue = p_queue and l.partition_key = k.partition_key)
  on conflict do nothing;
  select t.writing into v_segment from turn t for share;
  insert into job (segment, lane_no, enqueued_at_ms, scheduled_at_ms, priority, kind, payload)
  select v_segment, l.lane_no, v_now_ms, v_now_ms, a.priority, 'mail.send', a.payload
  from unnest(p_partition_keys, p_priorities, p_payloads) as a (partition_key, priority, payload)
  join lane l on l.queue = p_queue and l.partition_key = a.partition_key;
  return cardinality(p_payloads);
end;
$$;

create function claim(p_worker text, p_queue text, p_partition_keys text[], p_limit integer, p_lease_ms bigint)
returns table (
  key bigint, fence integer, lease_no bigint, expires_at_ms bigint, kind text, attempt smallint, payload bytea
)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_share integer := ceil(p_limit::numeric / cardinality(p_partition_keys));
  v_lane lane;
  v_turn turn;
  v_drawn record;
  v_keys bigint[] := '{}';
  v_now_ms bigint := now_ms();
  v_lease_no bigint := nextval('lease_seq');
begin
  select * into v_turn from turn;
  for v_lane in
    select l.*
    from lane l
    where l.queue = p_queue and l.partition_key = any (p_partition_keys)
    order by l.partition_key
    for update
  loop
    if v_lane.segment <> v_turn.reading then
      v_lane.segment := v_turn.reading;
      v_lane.born := '0';
      v_lane.key := 0;
    end if;
    return query
      select d.key, d.fence + 1, v_lease_no, v_now_ms + p_lease_ms, d.kind, d.attempt, d.payload
      from job d
      where d.segment = v_lane.segment and d.lane_no = v_lane.lane_no
        and (d.born, d.key) > (v_lane.born, v_lane.key)
        and d.born < pg_snapshot_xmin(pg_current_snapshot())
      order by d.born, d.key
      limit v_share;
    select array_agg(d.key) as keys, max(d.born) as born into v_drawn
    from (
      select d.born, d.key
      from job d
      where d.segment = v_lane.segment and d.lane_no = v_lane.lane_no
        and (d.born, d.key) > (v_lane.born, v_lane.key)
        and d.born < pg_snapshot_xmin(pg_current_snapshot())
      order by d.born, d.key
      limit v_share) d;
    if v_drawn.keys is not null then
      v_keys := v_keys || v_drawn.keys;
      update lane l set segment = v_lane.segment, born = v_drawn.born,
        key = v_drawn.keys[cardinality(v_drawn.keys)]
      where l.lane_no = v_lane.lane_no;
    end if;
  end loop;
  if v_keys <> '{}' then
    insert into lease (lease_no, claimed_at_ms, expires_at_ms, segment, worker, keys)
    values (v_lease_no, v_now_ms, v_now_ms + p_lease_ms, v_turn.reading, p_worker, v_keys);
  end if;
end;
$$;

create function ack(p_lease_no bigint, p_keys bigint[], p_fences integer[])
returns integer
language plpgsql
set enable_seqscan = off
as $$
declare
  v_held bigint[];
begin
  select l.keys into v_held from lease l where l.lease_no = p_lease_no for update;
  if not found then
    return 0;
  end if;
  if v_held <> p_keys then
    p_keys := array(select unnest(p_keys) intersect select unnest(v_held));
  end if;
  if cardinality(p_keys) = cardinality(v_held) then
    delete from lease l where l.lease_no = p_lease_no;
  else
    update lease l set keys = array(select unnest(v_held) except select unnest(p_keys)) where l.lease_no = p_lease_no;
  end if;
  return cardinality(p_keys);
end;
$$;

-- The duty that turns the wheel: a segment read to its end is left, one that nobody needs is
-- emptied, and writing goes on to an empty one. Enqueue holds the row of turn while it inserts.
create function rotate(p_turn_after integer default 50000)
returns void
language plpgsql
set enable_seqscan = off
set lock_timeout = '200ms'
as $$
declare
  v_turn turn;
  v_next smallint;
begin
  select * into v_turn from turn for update;
  if v_turn.reading <> v_turn.writing then
    if not exists (
      select
      from lane l
      cross join lateral (
        select
        from job j
        where j.segment = v_turn.reading and j.lane_no = l.lane_no
          and (l.segment <> v_turn.reading or (j.born, j.key) > (l.born, l.key))
        limit 1) j
    ) then
      update turn set reading = v_turn.writing;
    end if;
    return;
  end if;

  v_next := (v_turn.writing + 1) % 3;
  if exists (select from job j where j.segment = v_next limit 1) then
    if not exists (select from lease l where l.segment = v_next) then
      case v_next
        when 0 then truncate job_0;
        when 1 then truncate job_1;
        else truncate job_2;
      end case;
    end if;
  elsif (select max(j.key) - min(j.key) from job j where j.segment = v_turn.writing) >= p_turn_after then
    update turn set writing = v_next;
  end if;
exception
  when lock_not_available then null;
end;
$$;
