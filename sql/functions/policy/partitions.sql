create or replace function :SCHEMA.partitions(queue text, after text default null,
  max_rows integer default 200)
returns table (partition_key text, waiting bigint, running bigint, deficit bigint, served_at_ms bigint,
  held_back text)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_queue text := :SCHEMA.queue_name(partitions.queue);
begin
  perform :SCHEMA.check_max_rows(max_rows, 1000);
  return query
    select p.partition_key,
      (select count(*) from (
        select from :SCHEMA.line l
        cross join lateral (
          select from :SCHEMA.job j
          where j.queue = l.queue and j.line = l.line and j.partition_key = l.partition_key
            and j.sticky_worker = l.sticky_worker and j.class_key = l.class_key and j.priority = l.priority
            and j.stage = 1 and j.state = 'available'
          limit 1000) j
        where l.queue = v_queue and l.partition_key = p.partition_key
        limit 1000) w),
      :SCHEMA.running_in(v_queue, p.partition_key),
      coalesce((select d.deficit from :SCHEMA.partition d where d.queue = v_queue
        and d.partition_key = p.partition_key), 0),
      p.served_at_ms,
      (select :SCHEMA.held_back_by(f.job)
        from :SCHEMA.line l
        cross join lateral (
          select j as job from :SCHEMA.job j
          where j.queue = l.queue and j.line = l.line and j.partition_key = l.partition_key
            and j.sticky_worker = l.sticky_worker and j.class_key = l.class_key and j.priority = l.priority
            and j.stage = 1 and j.state = 'available'
          order by j.scheduled_at_ms, j.key
          limit 1) f
        where l.queue = v_queue and l.partition_key = p.partition_key
        order by l.sticky_worker, l.class_key, l.priority desc
        limit 1)
    from (
      select l.partition_key, min(l.served_at_ms) as served_at_ms
      from :SCHEMA.lane l
      where l.queue = v_queue and (partitions.after is null or l.partition_key > partitions.after)
      group by l.partition_key
      order by l.partition_key
      limit max_rows) p
    order by p.partition_key;
end;
$$;
comment on function :SCHEMA.partitions is
  'The partitions of a queue that have had work lately: jobs in line (at most 1000 counted), jobs running '
  '(where the queue has a ceiling, else 0), what a turn cut short is still owed, when it last went to the '
  'back of the turns (0: it is at the front, or takes none), and what holds back the first in line: paused, '
  'quarantine, deadline, rate_class, concurrency_limit, or null. Page on with after. Errors: HR007.';
revoke all on function :SCHEMA.partitions from public;
