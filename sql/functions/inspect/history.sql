create or replace function :SCHEMA.history(queue text, since_ms bigint, bucket_ms bigint default 60000)
returns table (bucket_start_ms bigint, arrived bigint, completed bigint, failed bigint, drained bigint,
  refused jsonb, next_ms bigint)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  c_most_rows integer := 100000;
  v_queue text;
  v_from bigint;
  v_first bigint;
  v_end bigint;
begin
  perform :SCHEMA.check_range('bucket_ms', history.bucket_ms, 60000, 31557600000);
  perform :SCHEMA.check_range('since_ms', history.since_ms, 0, 315576000000000);
  v_from := history.since_ms / history.bucket_ms * history.bucket_ms;
  if history.queue is not null then
    v_queue := :SCHEMA.queue_name(history.queue);
  else
    -- A queue has 30 days of minutes at most; all queues together may have any number.
    select m.minute_ms / history.bucket_ms * history.bucket_ms into v_end
    from :SCHEMA.queue_minute m
    where m.minute_ms >= v_from
    order by m.minute_ms
    offset c_most_rows
    limit 1;
    select min(m.minute_ms) into v_first from :SCHEMA.queue_minute m where m.minute_ms >= v_from;
    if v_end <= v_first then
      perform :SCHEMA.raise_invalid('bucket_ms', 'is too long for all queues together',
        'one queue, or buckets of at most ' || c_most_rows || ' minutes of all queues');
    end if;
  end if;
  return query
    with bucket as (
      select b.start_ms, sum(b.arrived)::bigint as arrived, sum(b.completed)::bigint as completed,
        sum(b.failed)::bigint as failed, sum(b.drained)::bigint as drained,
        :SCHEMA.sum_counts(jsonb_agg(b.refused) filter (where b.refused <> '{}')) as refused,
        row_number() over w as place, lead(b.start_ms) over w as next_start_ms
      from (
        select m.minute_ms / history.bucket_ms * history.bucket_ms as start_ms, m.arrived, m.completed,
          m.failed, m.drained, m.refused
        from :SCHEMA.queue_minute m
        where m.minute_ms >= v_from and (v_end is null or m.minute_ms < v_end)
          and (v_queue is null or m.queue = v_queue)
        union all
        select t.at_ms / history.bucket_ms * history.bucket_ms, t.arrived, t.completed, t.failed,
          t.arrived - t.depth, coalesce(t.refused, '{}')
        from :SCHEMA.tally t
        where t.at_ms >= v_from and (v_end is null or t.at_ms < v_end)
          and (v_queue is null or t.queue = v_queue)) b
      group by b.start_ms
      window w as (order by b.start_ms)
      order by b.start_ms
      limit 10000
    )
    select b.start_ms, b.arrived, b.completed, b.failed, b.drained, b.refused,
      case when b.next_start_ms is null then v_end when b.place = 10000 then b.next_start_ms end
    from bucket b
    order by b.start_ms;
end;
$$;
comment on function :SCHEMA.history is
  'What came and went in a queue (null: in all) since an instant, in buckets of at least a minute, oldest '
  'first, at most 10,000: arrived, completed, failed attempts, drained (left the unfinished jobs, by '
  'whatever way, less those that came back), and why the gate refused candidates. Kept for 30 days. Of all '
  'queues together a call reads 100,000 minutes. Where newer buckets were left out, next_ms of the last row '
  'is the since_ms to go on with, and null otherwise. Errors: HR007, also where one bucket has more.';
revoke all on function :SCHEMA.history from public;
