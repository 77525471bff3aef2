create or replace function :SCHEMA.draw_head(lane :SCHEMA.lane_start, most integer)
returns :SCHEMA.drawn
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_jobs :SCHEMA.batch;
  v_drawn :SCHEMA.drawn;
begin
  select array_agg(d.tid), array_agg(d.key), array_agg(d.scheduled_at_ms), bool_or(d.deadline_ms is not null)
  into v_jobs.places, v_jobs.keys, v_jobs.times, v_drawn.dated
  from (
    select j.ctid as tid, j.key, j.scheduled_at_ms, j.deadline_ms
    from :SCHEMA.job j
    where j.queue = lane.queue and j.line = lane.line and j.partition_key = lane.partition_key
      and j.sticky_worker = lane.sticky_worker
      and j.class_key = lane.class_key and j.priority = lane.priority and j.stage = 1
      and (j.scheduled_at_ms, j.key) >= (lane.start_ms, lane.start_key) and j.state = 'available'
    order by j.scheduled_at_ms, j.key
    limit most
    for update skip locked) d;
  v_drawn.jobs := v_jobs;
  return v_drawn;
end;
$$;
comment on function :SCHEMA.draw_head is
  'What draw does for a single line to which no policy applies: locks up to most available jobs at its head. '
  'Their line and weight are left out.';
revoke all on function :SCHEMA.draw_head from public;
