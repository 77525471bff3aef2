create or replace function :SCHEMA.draw(lanes :SCHEMA.lane_start[], taken bigint[])
returns :SCHEMA.drawn
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_drawn :SCHEMA.drawn;
begin
  select coalesce(array_agg(d.candidate), '{}'), coalesce(bool_or(d.dated), false)
  into v_drawn.jobs, v_drawn.dated
  from (
    select d.deadline_ms is not null as dated, cast(row(d.tid, d.key, l.place, l.queue, l.partition_key,
      l.priority, d.scheduled_at_ms, d.rate_classes, d.weight, d.deadline_ms, l.served_at_ms,
        row_number() over (
        partition by l.queue, l.partition_key order by l.priority desc, d.scheduled_at_ms, d.key)) as
          :SCHEMA.candidate) as candidate
    from unnest(draw.lanes) l
    cross join lateral (
      select j.ctid as tid, j.key, j.scheduled_at_ms, j.rate_classes, j.weight, j.deadline_ms
      from :SCHEMA.job j
      where j.queue = l.queue and j.partition_key = l.partition_key and j.sticky_worker = l.sticky_worker
        and j.class_key = l.class_key and j.priority = l.priority and j.stage = 1
        and (j.scheduled_at_ms, j.key) >= (l.start_ms, l.start_key)
        and j.state = 'available' and j.key <> all (draw.taken)
      order by j.scheduled_at_ms, j.key
      limit l.most
      for update skip locked) d) d;
  return v_drawn;
end;
$$;
comment on function :SCHEMA.draw is
  'Locks available jobs at the head of each line, as many as it is asked for, passing over those that '
  'another claim holds, and ranks them within their partition by priority, due time and age.';
revoke all on function :SCHEMA.draw from public;
