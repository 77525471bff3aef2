create or replace function :SCHEMA.roll_up_tallies(max_rows integer default 10000)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_folded :SCHEMA.tally[];
begin
  perform :SCHEMA.check_max_rows(max_rows);
  with folded as (
    delete from :SCHEMA.tally t
    where t.no = any (array(select n.no from :SCHEMA.tally n order by n.no limit max_rows for update skip
      locked))
    returning t.*
  )
  select array_agg(cast(f as :SCHEMA.tally)) into v_folded from folded f;
  insert into :SCHEMA.queue_minute as m (queue, minute_ms, arrived, completed, failed, drained, refused)
  select s.queue, s.minute_ms, s.arrived, s.completed, s.failed, s.drained, coalesce(s.refused, '{}')
  from (
    select t.queue, t.at_ms / 60000 * 60000 as minute_ms, sum(t.arrived) as arrived,
      sum(t.completed) as completed, sum(t.failed) as failed, sum(t.arrived) - sum(t.depth) as drained,
      :SCHEMA.sum_counts(jsonb_agg(t.refused) filter (where t.refused is not null)) as refused
    from unnest(v_folded) t
    group by t.queue, t.at_ms / 60000) s
  order by s.queue, s.minute_ms
  on conflict (queue, minute_ms) do update
    set arrived = m.arrived + excluded.arrived, completed = m.completed + excluded.completed,
      failed = m.failed + excluded.failed, drained = m.drained + excluded.drained,
      refused = :SCHEMA.sum_counts(jsonb_build_array(m.refused, excluded.refused));
  insert into :SCHEMA.queue_depth as d (queue, depth)
  select t.queue, sum(t.depth) from unnest(v_folded) t group by t.queue order by t.queue
  on conflict (queue) do update set depth = d.depth + excluded.depth;
  return coalesce(cardinality(v_folded), 0);
end;
$$;
comment on function :SCHEMA.roll_up_tallies is
  'Folds appended counts into the counts per minute and the depths of queues. Returns how many rows it '
  'folded. Errors: HR007.';
revoke all on function :SCHEMA.roll_up_tallies from public;
