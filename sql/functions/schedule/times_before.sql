create or replace function :SCHEMA.times_before(rule :SCHEMA.schedule_rule, time_s integer)
returns bigint
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select
    (select count(*) from unnest(rule.hours) h where h < time_s / 3600)
      * cardinality(rule.minutes) * cardinality(rule.seconds)
    + case when time_s / 3600 = any (rule.hours) then
        (select count(*) from unnest(rule.minutes) m where m < time_s / 60 % 60) * cardinality(rule.seconds)
        + case when time_s / 60 % 60 = any (rule.minutes) then
            (select count(*) from unnest(rule.seconds) s where s < time_s % 60)
          else 0 end
      else 0 end;
$$;
comment on function :SCHEMA.times_before is
  'How many times of a cron rule a day has before time_s, in seconds since midnight.';
revoke all on function :SCHEMA.times_before from public;
