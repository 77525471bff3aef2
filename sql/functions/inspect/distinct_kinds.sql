create or replace function :SCHEMA.distinct_kinds(max_rows integer default 1000, queues text[] default null)
returns setof text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_share integer;
begin
  perform :SCHEMA.check_max_rows(max_rows, 10000);
  if queues is not null then
    if cardinality(queues) > 1000 then
      perform :SCHEMA.raise_invalid('queues', 'has a wrong number of names', '0..1000');
    end if;
    v_share := greatest(1, max_rows / greatest(1, cardinality(queues)));
    return query
      select distinct s.kind
      from (
        select h.kind
        from (select distinct u.queue from unnest(distinct_kinds.queues) u(queue)) q
        cross join lateral (
          (select f.kind
           from (
             select l.* from :SCHEMA.lane l
             where l.queue = q.queue
             order by l.served_at_ms, l.no
             limit v_share) l
           cross join lateral (
             select j.kind from :SCHEMA.job j
             where j.queue = l.queue and j.line = l.line and j.partition_key = l.partition_key
               and j.sticky_worker = l.sticky_worker
               and j.class_key = l.class_key and j.priority = l.priority and j.stage = 1
               and (j.scheduled_at_ms, j.key) >= (l.from_ms, l.from_key)
             order by j.scheduled_at_ms, j.key
             limit 100) f
           limit v_share)
          union all
          (select j.kind from :SCHEMA.job j
           where j.queue = q.queue and j.stage = 0
           order by j.scheduled_at_ms, j.key
           limit v_share)) h
      ) s
      order by s.kind;
    return;
  end if;
  return query
    select distinct s.kind
    from (
      (select h.kind
       from (select l.* from :SCHEMA.lane l order by l.checked_at_ms limit distinct_kinds.max_rows) l
       cross join lateral (
         select j.kind from :SCHEMA.job j
         where j.queue = l.queue and j.line = l.line and j.partition_key = l.partition_key
           and j.sticky_worker = l.sticky_worker
           and j.class_key = l.class_key and j.priority = l.priority and j.stage = 1
           and (j.scheduled_at_ms, j.key) >= (l.from_ms, l.from_key)
         order by j.scheduled_at_ms, j.key
         limit 100) h
       limit distinct_kinds.max_rows)
      union all
      (select j.kind from :SCHEMA.job j where j.stage = 0 order by j.scheduled_at_ms,
        j.key limit distinct_kinds.max_rows)
    ) s
    order by s.kind;
end;
$$;
comment on function :SCHEMA.distinct_kinds is
  'The kinds of jobs that wait or run, by a sample: at most so many jobs of those in line, from all lines, '
  'and of those that fall due next; of some queues only, or (null) of all. For a worker that wants to know '
  'which of them it has no handler for. Errors: HR007.';
revoke all on function :SCHEMA.distinct_kinds from public;
