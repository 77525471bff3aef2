create or replace function :SCHEMA.draw_head(line :SCHEMA.lane_start, most integer, at_ms bigint)
returns :SCHEMA.line_head
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
  v_head :SCHEMA.line_head;
  v_last_ms bigint;
  v_last_key bigint;
begin
  select array_agg(d.tid), array_agg(d.key), max(d.scheduled_at_ms), bool_or(d.deadline_ms is not null)
  into v_head.places, v_head.keys, v_last_ms, v_head.dated
  from (
    select j.ctid as tid, j.key, j.scheduled_at_ms, j.deadline_ms
    from :SCHEMA.job j
    where j.queue = line.queue and j.partition_key = line.partition_key
      and j.sticky_worker = line.sticky_worker
      and j.class_key = line.class_key and j.priority = line.priority and j.stage = 1
      and (j.scheduled_at_ms, j.key) >= (line.start_ms, line.start_key) and j.state = 'available'
    order by j.scheduled_at_ms, j.key
    limit most
    for update skip locked) d;
  v_last_key := v_head.keys[cardinality(v_head.keys)];
  if :SCHEMA.lane_is_due(line, v_last_key, at_ms) then
    v_head.reached := array[cast(row(line.no, v_last_ms, v_last_key) as :SCHEMA.lane_reach)];
  end if;
  return v_head;
end;
$$;
comment on function :SCHEMA.draw_head is
  'What draw does for a single line to which no policy applies: locks up to most available jobs at its head. '
  'The places and keys are null where there is none; reached says how far the remembered position is worth '
  'moving.';
revoke all on function :SCHEMA.draw_head from public;
