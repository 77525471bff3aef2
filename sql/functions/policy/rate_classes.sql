create or replace function :SCHEMA.rate_classes()
returns table (
  name text, limit_per_window bigint, window_ms bigint, burst bigint, paused boolean, tokens numeric,
  deferred_until_ms bigint, next_token_ms bigint, waiting bigint
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_lines integer := (select count(*) from (select from :SCHEMA.lane l
    where l.class_key <> '' limit 10000) n);
begin
  return query
    with lines as materialized (
      select distinct l.queue, l.partition_key, l.sticky_worker, l.class_key, l.priority, l.line
      from (select * from :SCHEMA.lane o where o.class_key <> '' limit 10000) l
    ), waits as (
      select n.name, sum(w.jobs) as jobs
      from lines l
      cross join lateral (
        select count(*) as jobs from (
          select from :SCHEMA.job j
          where j.queue = l.queue and j.line = l.line and j.partition_key = l.partition_key
            and j.sticky_worker = l.sticky_worker
            and j.class_key = l.class_key and j.priority = l.priority and j.stage = 1
            and j.state = 'available'
          limit greatest(10, least(1000, 200000 / greatest(v_lines, 1)))) c) w
      cross join lateral unnest(:SCHEMA.class_names(l.class_key)) n(name)
      group by n.name
    )
    select r.name, r.limit_per_window, r.window_ms, r.burst, r.paused,
      round(:SCHEMA.class_tokens(r, v_now), 3), nullif(r.deferred_until_ms, 0),
        :SCHEMA.class_ready_ms(r, 1, v_now), least(1000, coalesce(w.jobs, 0))::bigint
    from :SCHEMA.rate_class r
    left join waits w on w.name = r.name
    order by r.name
    limit 10000;
end;
$$;
comment on function :SCHEMA.rate_classes is
  'The rate classes with the tokens they have now, when the next whole one comes, and how many jobs wait in '
  'their lines (at most 1000 counted, and fewer of each line where there are very many).';
revoke all on function :SCHEMA.rate_classes from public;
