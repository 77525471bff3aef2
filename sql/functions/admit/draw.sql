create or replace function :SCHEMA.draw(lanes :SCHEMA.lane_start[], share integer, taken bigint[])
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
  v_jobs :SCHEMA.batch;
  v_drawn :SCHEMA.drawn;
begin
  select array_agg(d.tid), array_agg(d.key), array_agg(d.lane), array_agg(d.weight),
    array_agg(d.scheduled_at_ms), coalesce(bool_or(d.dated), false)
  into v_jobs.places, v_jobs.keys, v_jobs.lane_of, v_jobs.weights, v_jobs.times, v_drawn.dated
  from (
    select d.tid, d.key, l.place as lane, d.weight, d.scheduled_at_ms, d.deadline_ms is not null as dated
    from unnest(draw.lanes) l
    cross join lateral (
      select h.*, row_number() over () as turn
      from (
        select j.ctid as tid, j.key, j.scheduled_at_ms, j.weight, j.deadline_ms
        from :SCHEMA.job j
        where j.queue = l.queue and j.line = l.line and j.partition_key = l.partition_key
          and j.sticky_worker = l.sticky_worker
          and j.class_key = l.class_key and j.priority = l.priority and j.stage = 1
          and (j.scheduled_at_ms, j.key) >= (l.start_ms, l.start_key)
          and j.state = 'available' and j.key <> all (draw.taken)
        order by j.scheduled_at_ms, j.key
        limit coalesce(l.most, draw.share)
        for update skip locked) h) d
    order by d.turn, l.served_at_ms, l.priority desc, d.scheduled_at_ms, l.part, d.key) d;
  v_drawn.jobs := v_jobs;
  return v_drawn;
end;
$$;
comment on function :SCHEMA.draw is
  'Locks available jobs at the head of each line, as many as it is asked for, passing over those that '
  'another claim holds. The lines take turns job by job, longest waiting first, and within a line it goes by '
  'due time and age (where partitions have several lines: merge_lines). share: what a line is asked for that '
  'does not say.';
revoke all on function :SCHEMA.draw from public;
