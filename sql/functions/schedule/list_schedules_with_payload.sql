create or replace function :SCHEMA.list_schedules_with_payload()
returns setof :SCHEMA.schedule_summary
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select r.*
  from :SCHEMA.schedule s
  cross join lateral :SCHEMA.summarize_schedule(s, true) r
  order by s.id collate "C"
  limit 10000;
$$;
comment on function :SCHEMA.list_schedules_with_payload is
  'All schedules as list_schedules has them, with the payload and headers of their jobs.';
revoke all on function :SCHEMA.list_schedules_with_payload from public;
