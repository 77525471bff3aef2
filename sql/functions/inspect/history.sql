create or replace function :SCHEMA.history(queue text, since_ms bigint, bucket_ms bigint default 60000)
returns table (bucket_start_ms bigint, arrived bigint, completed bigint, failed bigint, drained bigint,
  refused jsonb)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_queue text;
begin
  perform :SCHEMA.check_range('bucket_ms', history.bucket_ms, 60000, 31557600000);
  perform :SCHEMA.check_range('since_ms', history.since_ms, 0, 315576000000000);
  if history.queue is not null then
    v_queue := :SCHEMA.queue_name(history.queue);
  end if;
  return query
    select b.start_ms, sum(b.arrived)::bigint, sum(b.completed)::bigint, sum(b.failed)::bigint,
      sum(b.drained)::bigint, :SCHEMA.sum_counts(jsonb_agg(b.refused) filter (where b.refused <> '{}'))
    from (
      select m.minute_ms / history.bucket_ms * history.bucket_ms as start_ms, m.arrived, m.completed,
        m.failed, m.drained, m.refused
      from :SCHEMA.queue_minute m
      where m.minute_ms >= history.since_ms / history.bucket_ms * history.bucket_ms
        and (v_queue is null or m.queue = v_queue)
      union all
      select t.at_ms / history.bucket_ms * history.bucket_ms, t.arrived, t.completed, t.failed,
        t.arrived - t.depth, coalesce(t.refused, '{}')
      from :SCHEMA.tally t
      where t.at_ms >= history.since_ms / history.bucket_ms * history.bucket_ms
        and (v_queue is null or t.queue = v_queue)) b
    group by b.start_ms
    order by b.start_ms
    limit 10000;
end;
$$;
comment on function :SCHEMA.history is
  'What came and went in a queue (null: in all) since an instant, in buckets of at least a minute, oldest '
  'first, at most 10,000: arrived, completed, failed attempts, drained (left the unfinished jobs, by '
  'whatever way, less those that came back), and why the gate refused candidates. Kept for 30 days. Errors: '
  'HR007.';
revoke all on function :SCHEMA.history from public;
