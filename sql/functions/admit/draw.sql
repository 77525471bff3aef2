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
    select r.tid, r.key, r.lane, r.weight, r.scheduled_at_ms, r.dated
    from (
      select d.tid, d.key, l.place as lane, d.weight, d.scheduled_at_ms, d.deadline_ms is not null as dated,
        l.part, l.served_at_ms, l.priority, row_number() over (
          partition by l.part order by l.priority desc, d.scheduled_at_ms, d.key) as rank
      from unnest(draw.lanes) l
      cross join lateral (
        select j.ctid as tid, j.key, j.scheduled_at_ms, j.weight, j.deadline_ms
        from :SCHEMA.job j
        where j.queue = l.queue and j.partition_key = l.partition_key and j.sticky_worker = l.sticky_worker
          and j.class_key = l.class_key and j.priority = l.priority and j.stage = 1
          and (j.scheduled_at_ms, j.key) >= (l.start_ms, l.start_key)
          and j.state = 'available' and j.key <> all (draw.taken)
        order by j.scheduled_at_ms, j.key
        limit coalesce(l.most, draw.share)
        for update skip locked) d) r
    order by r.rank, r.served_at_ms, r.priority desc, r.scheduled_at_ms, r.part, r.key) d;
  v_drawn.jobs := v_jobs;
  return v_drawn;
end;
$$;
comment on function :SCHEMA.draw is
  'Locks available jobs at the head of each line, as many as it is asked for, passing over those that '
  'another claim holds. In the order in which they run where queues have no shares and there is no quantum: '
  'the partitions take turns job by job, longest waiting first, and within a partition it goes by priority, '
  'due time and age. share: what a line is asked for that does not say.';
revoke all on function :SCHEMA.draw from public;
