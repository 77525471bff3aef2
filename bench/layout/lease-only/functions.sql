create function enqueue_batch(p_queue text, p_partition_keys text[], p_priorities smallint[], p_payloads bytea[])
returns integer
language plpgsql
as $$
declare
  v_now_ms bigint := now_ms();
begin
  perform note_arrivals(p_queue, p_partition_keys, p_priorities, v_now_ms);
  insert into job (state, enqueued_at_ms, scheduled_at_ms, priority, queue, partition_key, kind, payload)
  select 'available', v_now_ms, v_now_ms, a.priority, p_queue, a.partition_key, 'mail.send', a.payload
  from unnest(p_partition_keys, p_priorities, p_payloads) as a (partition_key, priority, payload);
  return cardinality(p_payloads);
end;
$$;

-- Jobs behind the position of a locked lane that no lease names: enqueued by a transaction that
-- committed after the position had passed.
create function late_jobs(p_lane lane, p_limit integer)
returns bigint[]
language sql
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
  select array(
    select r.key
    from job r
    where r.queue = p_lane.queue and r.partition_key = p_lane.partition_key and r.priority = p_lane.priority
      and r.stage = 1
      and (r.scheduled_at_ms, r.key) > (p_lane.safe_at_ms, p_lane.safe_key)
      and (r.scheduled_at_ms, r.key) <= (p_lane.from_at_ms, p_lane.from_key)
      and case when true then r.key not in (select unnest(l.keys) from lease l) end
    order by r.scheduled_at_ms, r.key
    limit p_limit);
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
  c_search_every_ms constant bigint := 1000;
  c_search_share constant bigint := 20;
  v_share integer := ceil(p_limit::numeric / cardinality(p_partition_keys));
  v_lane lane;
  v_drawn record;
  v_late bigint[];
  v_keys bigint[] := '{}';
  v_now_ms bigint := now_ms();
  v_searched_ms bigint;
  v_lease_no bigint;
begin
  for v_lane in
    select l.*
    from lane l
    where l.queue = p_queue and l.partition_key = any (p_partition_keys)
    order by l.partition_key, l.priority desc
    for update
  loop
    v_late := '{}';
    if v_lane.rescan_at_ms <= v_now_ms then
      v_searched_ms := now_ms();
      v_late := late_jobs(v_lane, v_share);
      if v_late = '{}' and pg_snapshot_xmin(pg_current_snapshot()) >= v_lane.mark_xid then
        v_lane.safe_at_ms := v_lane.mark_at_ms;
        v_lane.safe_key := v_lane.mark_key;
        v_lane.mark_at_ms := v_lane.from_at_ms;
        v_lane.mark_key := v_lane.from_key;
        v_lane.mark_xid := pg_snapshot_xmax(pg_current_snapshot());
      end if;
      v_lane.rescan_at_ms := v_now_ms + greatest(c_search_every_ms, c_search_share * (now_ms() - v_searched_ms));
    end if;

    select array_agg(d.key) as keys, max(d.scheduled_at_ms) as at_ms into v_drawn
    from (
      select r.key, r.scheduled_at_ms
      from job r
      where r.queue = p_queue and r.partition_key = v_lane.partition_key and r.priority = v_lane.priority
        and r.stage = 1
        and (r.scheduled_at_ms, r.key) > (v_lane.from_at_ms, v_lane.from_key)
      order by r.scheduled_at_ms, r.key
      limit v_share - cardinality(v_late)) d;
    if v_drawn.keys is not null then
      v_lane.from_at_ms := v_drawn.at_ms;
      v_lane.from_key := v_drawn.keys[cardinality(v_drawn.keys)];
    end if;
    v_keys := v_keys || v_late || v_drawn.keys;
    update lane l
    set from_at_ms = v_lane.from_at_ms, from_key = v_lane.from_key,
      safe_at_ms = v_lane.safe_at_ms, safe_key = v_lane.safe_key,
      mark_at_ms = v_lane.mark_at_ms, mark_key = v_lane.mark_key, mark_xid = v_lane.mark_xid,
      rescan_at_ms = v_lane.rescan_at_ms
    where l.queue = v_lane.queue and l.partition_key = v_lane.partition_key and l.priority = v_lane.priority
      and (v_drawn.keys is not null or l.rescan_at_ms <> v_lane.rescan_at_ms);
  end loop;
  if v_keys = '{}' then
    return;
  end if;

  v_now_ms := now_ms();
  v_lease_no := nextval('lease_seq');
  insert into lease (lease_no, claimed_at_ms, expires_at_ms, worker, keys)
  values (v_lease_no, v_now_ms, v_now_ms + p_lease_ms, p_worker, v_keys);
  return query
    select j.key, j.fence + 1, v_lease_no, v_now_ms + p_lease_ms, j.kind, j.attempt, j.payload
    from job j
    where j.key = any (v_keys);
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
  v_held bigint[];
begin
  select l.keys into v_held from lease l where l.lease_no = p_lease_no for update;
  if not found then
    return 0;
  end if;
  if v_held <> p_keys then
    p_keys := array(select unnest(p_keys) intersect select unnest(v_held));
  end if;
  delete from job j
  where j.key = any (array(
    select a.key
    from unnest(p_keys, p_fences) as a (key, fence)
    cross join lateral (select from job h where h.key = a.key and h.fence + 1 = a.fence offset 0) as h));
  get diagnostics v_done = row_count;
  if v_done = cardinality(v_held) then
    delete from lease l where l.lease_no = p_lease_no;
  else
    update lease l set keys = array(select unnest(v_held) except select unnest(p_keys)) where l.lease_no = p_lease_no;
  end if;
  return v_done;
end;
$$;
