create or replace function :SCHEMA.judge_ceilings(
  verdict :SCHEMA.verdict, lanes :SCHEMA.lane_start[], earlier :SCHEMA.demand[]
)
returns :SCHEMA.verdict
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limit :SCHEMA.concurrency_limit;
  v_near text[];
  v_partition record;
  v_room bigint;
  v_over bigint[];
begin
  foreach v_limit in array verdict.ceilings loop
    v_near := :SCHEMA.near_ceiling(v_limit, verdict.demands, earlier);
    continue when v_near = '{}';
    v_over := '{}';
    for v_partition in
      select p.partition_key, p.keys, v_limit.max_concurrent - p.before as most,
        greatest(0, v_limit.max_concurrent - :SCHEMA.running_in(v_limit.queue, p.partition_key)
          - p.before) as room
      from (
        select d.partition_key, array_agg(j.key order by j.ordinality) as keys, coalesce((
            select sum(e.jobs) from unnest(earlier) e
            where e.queue = v_limit.queue and e.partition_key = d.partition_key), 0) as before
        from rows from (unnest((verdict.admitted).keys), unnest((verdict.admitted).lane_of)) with ordinality
          j(key, lane, ordinality)
        join unnest(verdict.demands) d on d.lane = j.lane
        where d.queue = v_limit.queue and d.partition_key = any (v_near)
        group by d.partition_key) p
    loop
      v_room := v_partition.room;
      if v_limit.on_saturated = 'cancel_running' then
        v_room := v_room + :SCHEMA.displace_jobs(v_limit.queue, v_partition.partition_key,
          (least(cardinality(v_partition.keys), v_partition.most) - v_room)::integer);
      end if;
      v_over := v_over || v_partition.keys[(v_room + 1)::integer :];
    end loop;
    continue when v_over = '{}';
    case v_limit.on_saturated
      when 'discard' then perform :SCHEMA.drop_saturated(v_over, 'archived');
      when 'cancel_incoming' then perform :SCHEMA.drop_saturated(v_over, 'cancelled');
      else null;
    end case;
    verdict := :SCHEMA.refuse(verdict, lanes, v_over, 'concurrency_limit',
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
