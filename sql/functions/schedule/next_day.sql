create or replace function :SCHEMA.next_day(rule :SCHEMA.schedule_rule, from_day date)
returns date
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from_month integer := extract(year from from_day) * 12 + extract(month from from_day) - 1;
  v_first date;
  v_days integer;
  v_weekday integer;
begin
  -- The longest way is from one leap day to the next around 2100: eight years.
  for v_month in v_from_month..v_from_month + 108 loop
    continue when v_month % 12 + 1 <> all (rule.months);
    v_first := make_date(v_month / 12, v_month % 12 + 1, 1);
    v_days := make_date((v_month + 1) / 12, (v_month + 1) % 12 + 1, 1) - v_first;
    -- That was a Sunday before all of them.
    v_weekday := (v_first - date '1899-12-31') % 7;
    for v_day in greatest(0, from_day - v_first)..v_days - 1 loop
      if rule.days is null and rule.weekdays is null or v_day + 1 = any (rule.days)
        or (v_weekday + v_day) % 7 = any (rule.weekdays)
      then
        return v_first + v_day;
      end if;
    end loop;
  end loop;
  return null;
end;
$$;
comment on function :SCHEMA.next_day is
  'The first day from from_day on that a cron rule names. Where day of month and day of week are both given, '
  'one suffices.';
revoke all on function :SCHEMA.next_day from public;
