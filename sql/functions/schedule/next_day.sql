create or replace function :SCHEMA.next_day(rule :SCHEMA.schedule_rule, from_day date)
returns date
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from_month integer := extract(year from from_day)::integer * 12 + extract(month
    from from_day)::integer - 1;
  v_first date;
  v_day date;
begin
  -- The longest way is from one leap day to the next around 2100: eight years.
  for v_month in v_from_month..v_from_month + 108 loop
    continue when v_month % 12 + 1 <> all (rule.months);
    v_first := make_date(v_month / 12, v_month % 12 + 1, 1);
    select min(d.day) into v_day
    from (
      select v_first + n as day, n + 1 as day_of_month
      from generate_series(0, make_date((v_month + 1) / 12, (v_month + 1) % 12 + 1, 1) - v_first - 1) n) d
    where d.day >= from_day
      and (rule.days is null and rule.weekdays is null
        or d.day_of_month = any (rule.days)
        or (d.day - date '1970-01-04') % 7 = any (rule.weekdays));
    if v_day is not null then
      return v_day;
    end if;
  end loop;
  return null;
end;
$$;
comment on function :SCHEMA.next_day is
  'The first day from from_day on that a cron rule names. Where day of month and day of week are both given, '
  'one suffices.';
revoke all on function :SCHEMA.next_day from public;
