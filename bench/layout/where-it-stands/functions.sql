create function enqueue_batch(p_queue text, p_partition_keys text[], p_priorities smallint[], p_payloads bytea[])
returns integer
language plpgsql
as $$
declare
  v_now_ms bigint := now_ms();
begin
  perform note_arrivals(p_queue, p_partition_keys, p_priorities, v_now_ms);
  with b as (
    insert into body (enqueued_at_ms, scheduled_at_ms, priority, queue, partition_key, kind, payload)
    select v_now_ms, v_now_ms, a.priority, p_queue, a.partition_key, 'mail.send', a.payload
    from unnest(p_partition_keys, p_priorities, p_payloads) as a (partition_key, priority, payload)
    returning key, priority, partition_key
  )
  insert into ready (key, scheduled_at_ms, fence, priority, queue, partition_key)
  select b.key, v_now_ms, 0, b.priority, p_queue, b.partition_key
  from b;
  return cardinality(p_payloads);
end;
$$;

create function first_available(p_queue text, p_partition_key text, p_priority smallint, p_after place, p_upto place)
returns place
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_first place;
begin
  select r.scheduled_at_ms, r.key into v_first
  from ready r
  where r.queue = p_queue and r.partition_key = p_partition_key and r.priority = p_priority
    and (r.scheduled_at_ms, r.key) > (p_after.at_ms, p_after.key)
    and (r.scheduled_at_ms, r.key) <= (p_upto.at_ms, p_upto.key)
  order by r.scheduled_at_ms, r.key
  limit 1;
  return v_first;
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
  v_now_ms bigint;
  v_lease_no bigint;
  v_tids tid[];
  v_keys bigint[];
  v_at_ms bigint[];
  v_of_lane text[];
  v_of_priority smallint[];
begin
  -- Every level is a lateral with a limit: it can't be flattened, so no statistics can re-order it.
  select array_agg(d.tid), array_agg(d.key), array_agg(d.scheduled_at_ms), array_agg(p.partition_key),
    array_agg(d.priority)
  into v_tids, v_keys, v_at_ms, v_of_lane, v_of_priority
  from unnest(p_partition_keys) as p (partition_key)
  cross join lateral (
    select j.tid, j.key, j.scheduled_at_ms, l.priority
    from lane l
    cross join lateral (
      select r.ctid as tid, r.key, r.scheduled_at_ms
      from ready r
      where r.queue = p_queue and r.partition_key = l.partition_key and r.priority = l.priority
        and (r.scheduled_at_ms, r.key) > (l.from_at_ms, l.from_key)
      order by r.scheduled_at_ms, r.key
      limit v_share
      for update skip locked) j
    where l.queue = p_queue and l.partition_key = p.partition_key
    order by l.priority desc
    limit v_share) d;
  perform remember_positions(p_queue, p_partition_keys, v_of_lane, v_of_priority, v_at_ms, v_keys);
  if v_keys is null then
    return;
  end if;

  v_now_ms := now_ms();
  v_lease_no := nextval('lease_seq');
  return query
    with taken as (
      delete from ready r where r.ctid = any (v_tids) returning r.key, r.fence
    ),
    held as (
      insert into lease (key, lease_no, claimed_at_ms, expires_at_ms, fence, worker)
      select t.key, v_lease_no, v_now_ms, v_now_ms + p_lease_ms, t.fence + 1, p_worker
      from taken t
      returning key, fence, expires_at_ms
    )
    select h.key, h.fence, v_lease_no, h.expires_at_ms, b.kind, b.attempt, b.payload
    from held h
    cross join lateral (
      select o.kind, o.attempt, o.payload from body o where o.key = h.key offset 0) b;
end;
$$;

create function ack(p_lease_no bigint, p_keys bigint[], p_fences integer[])
returns integer
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_done integer;
begin
  -- The lateral is fenced by offset 0, so lease is always reached by key; see the decision record.
  with settled as (
    delete from lease l
    where l.key = any (array(
      select a.key
      from unnest(p_keys, p_fences) as a (key, fence)
      cross join lateral (
        select from lease h
        where h.key = a.key and h.fence = a.fence and h.lease_no = p_lease_no
        offset 0) as h))
      and l.lease_no = p_lease_no
    returning l.key
  )
  delete from body b where b.key = any (array(select s.key from settled s));
  get diagnostics v_done = row_count;
  return v_done;
end;
$$;
