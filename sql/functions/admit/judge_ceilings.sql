create or replace function :SCHEMA.judge_ceilings(verdict :SCHEMA.verdict, earlier :SCHEMA.demand[])
returns :SCHEMA.verdict
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limit :SCHEMA.concurrency_limit;
  v_partition record;
  v_keys bigint[];
  v_room bigint;
  v_over bigint[];
begin
  foreach v_limit in array verdict.ceilings loop
    v_over := '{}';
    for v_partition in
      select p.partition_key, t.room, v_limit.max_concurrent - p.before as most
      from (
        select d.partition_key, sum(d.jobs) as jobs, sum(d.before) as before
        from (
          select n.queue, n.partition_key, n.jobs, 0 as before from unnest(verdict.demands) n
          union all
          select e.queue, e.partition_key, 0, e.jobs from unnest(earlier) e) d
        where d.queue = v_limit.queue
        group by d.partition_key) p
      left join (
        select h.partition_key, count(*) as running
        from :SCHEMA.held_place h
        where h.queue = v_limit.queue and h.partition_key = any (array(
          select n.partition_key from unnest(verdict.demands) n where n.queue = v_limit.queue))
        group by h.partition_key) r on r.partition_key = p.partition_key
      cross join lateral (
        select greatest(0, v_limit.max_concurrent - coalesce(r.running, 0) - p.before) as room) t
      where p.jobs > t.room
    loop
      v_keys := array(
        select c.key from unnest(verdict.admitted) with ordinality c
        where c.queue = v_limit.queue and c.partition_key = v_partition.partition_key
        order by c.ordinality);
      v_room := v_partition.room;
      if v_limit.on_saturated = 'cancel_running' then
        v_room := v_room + :SCHEMA.displace_jobs(v_limit.queue, v_partition.partition_key,
          (least(cardinality(v_keys), v_partition.most) - v_room)::integer);
      end if;
      v_over := v_over || v_keys[(v_room + 1)::integer :];
    end loop;
    continue when v_over = '{}';
    case v_limit.on_saturated
      when 'discard' then perform :SCHEMA.drop_saturated(v_over, 'archived');
      when 'cancel_incoming' then perform :SCHEMA.drop_saturated(v_over, 'cancelled');
      else null;
    end case;
    verdict := :SCHEMA.refuse(verdict, v_over, 'concurrency_limit',
      v_limit.on_saturated in ('queue', 'cancel_running'));
  end loop;
  return verdict;
end;
$$;
comment on function :SCHEMA.judge_ceilings is
  'Holds jobs to the ceilings of their partitions, which the caller has locked: what is too much waits, is '
  'archived, is cancelled, or takes the place of the oldest that runs, as the ceiling says. earlier: what '
  'passed before in the same call.';
revoke all on function :SCHEMA.judge_ceilings from public;
