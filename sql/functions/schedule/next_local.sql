create or replace function :SCHEMA.next_local(rule :SCHEMA.schedule_rule, from_s bigint)
returns bigint
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_time integer := ((from_s % 86400) + 86400) % 86400;
  v_today date := date '1970-01-01' + ((from_s - v_time) / 86400)::integer;
  v_day date := :SCHEMA.next_day(rule, v_today);
  v_hour integer;
  v_minute integer;
  v_second integer;
begin
  if v_day = v_today then
    v_hour := v_time / 3600;
    v_minute := v_time / 60 % 60;
    if v_hour = any (rule.hours) then
      if v_minute = any (rule.minutes) then
        select min(s) into v_second from unnest(rule.seconds) s where s >= v_time % 60;
      end if;
      if v_second is null then
        select min(m) into v_minute from unnest(rule.minutes) m where m > v_minute;
        v_second := rule.seconds[1];
      end if;
    else
      v_minute := null;
    end if;
    if v_minute is null then
      select min(h) into v_hour from unnest(rule.hours) h where h > v_hour;
      v_minute := rule.minutes[1];
      v_second := rule.seconds[1];
    end if;
    if v_hour is null then
      v_day := :SCHEMA.next_day(rule, v_today + 1);
    end if;
  end if;
  if v_hour is null then
    v_hour := rule.hours[1];
    v_minute := rule.minutes[1];
    v_second := rule.seconds[1];
  end if;
  return (v_day - date '1970-01-01') * 86400::bigint + v_hour * 3600 + v_minute * 60 + v_second;
end;
$$;
comment on function :SCHEMA.next_local is
  'The first local time from from_s on that a cron rule names; both in seconds since the local epoch. Knows '
  'no time zones.';
revoke all on function :SCHEMA.next_local from public;
