create or replace function :SCHEMA.list_schedules()
returns setof :SCHEMA.schedule_summary
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select r.*
  from :SCHEMA.schedule s
  cross join lateral :SCHEMA.summarize_schedule(s, false) r
  order by s.id collate "C"
  limit 10000;
$$;
comment on function :SCHEMA.list_schedules is
  'All schedules in order of id, at most 10,000, without payload and headers, which '
  'list_schedules_with_payload has. Instants in ms since the epoch.';
revoke all on function :SCHEMA.list_schedules from public;
