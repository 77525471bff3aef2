create or replace function :SCHEMA.read_spec(spec text)
returns :SCHEMA.schedule_rule
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  c_months text[] := array['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov',
    'dec'];
  c_weekdays text[] := array['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
  v_text text;
  v_parts text[];
  v_rule :SCHEMA.schedule_rule;
begin
  perform :SCHEMA.check_text('spec', spec, 1024);
  v_text := regexp_replace(spec, '^\s+|\s+$', '', 'g');
  v_parts := regexp_match(v_text, '^@every:(\d{1,18})$');
  if v_parts is not null then
    v_rule.every_ms := v_parts[1]::bigint;
    perform :SCHEMA.check_duration('spec', v_rule.every_ms);
    return v_rule;
  end if;

  v_parts := regexp_match(v_text, '^CRON_TZ=(\S*)\s+(\S.*)$');
  if v_parts is not null then
    v_text := v_parts[2];
    v_rule.zone := :SCHEMA.check_zone(v_parts[1]);
  end if;
  v_text := case lower(v_text)
    when '@hourly' then '0 * * * *'
    when '@daily' then '0 0 * * *'
    when '@midnight' then '0 0 * * *'
    when '@weekly' then '0 0 * * 0'
    when '@monthly' then '0 0 1 * *'
    when '@yearly' then '0 0 1 1 *'
    when '@annually' then '0 0 1 1 *'
    else v_text
  end;
  v_parts := regexp_split_to_array(v_text, '\s+');
  if cardinality(v_parts) = 5 then
    v_parts := array['0'] || v_parts;
  elsif cardinality(v_parts) <> 6 or left(v_text, 1) = '@' then
    perform :SCHEMA.raise_invalid('spec', 'is neither cron nor a known word: ' || :SCHEMA.cut_text(spec, 80),
      '5 or 6 fields, behind CRON_TZ=Zone if wanted; @every:<ms>; @hourly, @daily and the like');
  end if;
  v_rule.seconds := :SCHEMA.read_cron_field('second', v_parts[1], 0, 59);
  v_rule.minutes := :SCHEMA.read_cron_field('minute', v_parts[2], 0, 59);
  v_rule.hours := :SCHEMA.read_cron_field('hour', v_parts[3], 0, 23);
  v_rule.months := :SCHEMA.read_cron_field('month', v_parts[5], 1, 12, c_months);
  if v_parts[4] <> '*' then
    v_rule.days := :SCHEMA.read_cron_field('day of month', v_parts[4], 1, 31);
  end if;
  if v_parts[6] <> '*' then
    v_rule.weekdays := :SCHEMA.read_cron_field('day of week', v_parts[6], 0, 6, c_weekdays);
  end if;
  if v_rule.weekdays is null and v_rule.days[1] > (
    select max(case when m = 2 then 29 when m in (4, 6, 9, 11) then 30 else 31 end)
      from unnest(v_rule.months) m)
  then
    perform :SCHEMA.raise_invalid('spec', 'never fires: no such day in these months', 'a date that exists');
  end if;
  return v_rule;
end;
$$;
comment on function :SCHEMA.read_spec is
  'What a spec says, as sets of values. Raises HR007 for one that can''t be read or never fires.';
revoke all on function :SCHEMA.read_spec from public;
