create or replace function :SCHEMA.count_local(rule :SCHEMA.schedule_rule, from_s bigint, to_s bigint)
returns bigint
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(case
      when d.day < b.last_day then :SCHEMA.times_before(rule, 86400)
      else :SCHEMA.times_before(rule, b.last_time)
    end - case when d.day > b.first_day then 0 else :SCHEMA.times_before(rule, b.first_time) end), 0)::bigint
  from (
    select from_s / 86400 as first_day, (from_s % 86400)::integer as first_time, to_s / 86400 as last_day,
      (to_s % 86400)::integer as last_time) b
  cross join lateral generate_series(b.first_day, b.last_day) d(day)
  cross join lateral (select date '1970-01-01' + d.day::integer as date) c
  where from_s < to_s
    and extract(month from c.date)::integer = any (rule.months)
    and (rule.days is null and rule.weekdays is null
      or extract(day from c.date)::integer = any (rule.days)
      or extract(dow from c.date)::integer = any (rule.weekdays));
$$;
comment on function :SCHEMA.count_local is
  'How many local times from from_s on and before to_s a cron rule names, counted by days; in seconds since '
  'the local epoch, not before it. Knows no time zones.';
revoke all on function :SCHEMA.count_local from public;
