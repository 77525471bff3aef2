create or replace function :SCHEMA.judge_ceiling(
  verdict :SCHEMA.verdict, lanes :SCHEMA.lane_start[], earlier :SCHEMA.demand[],
    ceiling :SCHEMA.concurrency_limit, near text[]
)
returns :SCHEMA.verdict
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_partition record;
  v_room bigint;
  v_over bigint[] := '{}';
begin
  for v_partition in
    select p.partition_key, p.keys, ceiling.max_concurrent - p.before as most,
      greatest(0, ceiling.max_concurrent - :SCHEMA.running_in(ceiling.queue, p.partition_key)
        - p.before) as room
    from (
      select d.partition_key, array_agg(j.key order by j.ordinality) as keys, coalesce((
          select sum(e.jobs) from unnest(earlier) e
          where e.queue = ceiling.queue and e.partition_key = d.partition_key), 0) as before
      from rows from (unnest((verdict.admitted).keys), unnest((verdict.admitted).lane_of)) with ordinality
        j(key, lane, ordinality)
      join unnest(verdict.demands) d on d.lane = j.lane
      where d.queue = ceiling.queue and d.partition_key = any (near)
      group by d.partition_key) p
  loop
    v_room := v_partition.room;
    if ceiling.on_saturated = 'cancel_running' then
      v_room := v_room + :SCHEMA.displace_jobs(ceiling.queue, v_partition.partition_key,
        (least(cardinality(v_partition.keys), v_partition.most) - v_room)::integer);
    end if;
    v_over := v_over || v_partition.keys[(v_room + 1)::integer :];
  end loop;
  if v_over = '{}' then
    return verdict;
  end if;
  case ceiling.on_saturated
    when 'discard' then perform :SCHEMA.drop_saturated(v_over, 'archived');
    when 'cancel_incoming' then perform :SCHEMA.drop_saturated(v_over, 'cancelled');
    else null;
  end case;
  return :SCHEMA.refuse(verdict, lanes, v_over, 'concurrency_limit',
    ceiling.on_saturated in ('queue', 'cancel_running'));
end;
$$;
comment on function :SCHEMA.judge_ceiling is
  'Holds jobs of these partitions to their ceiling, which the caller has locked: what is too much waits, is '
  'archived, is cancelled, or takes the place of the oldest that runs, as the ceiling says. earlier: what '
  'passed before in the same call.';
revoke all on function :SCHEMA.judge_ceiling from public;
