-- What a spec means. Instants are ms since the epoch; ms() reads them from text.
create function pg_temp.ms(at text) returns bigint language sql
  return (extract(epoch from at::timestamptz) * 1000)::bigint;

create function pg_temp.walk(spec text, after text, steps integer) returns text[] language plpgsql as $$
declare
  v_at bigint := pg_temp.ms(after);
  v_all text[] := '{}';
begin
  for i in 1..steps loop
    v_at := :SCHEMA.next_tick(spec, v_at);
    v_all := v_all || to_char(to_timestamp(v_at / 1000.0) at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS');
  end loop;
  return v_all;
end $$;

create function pg_temp.refused(spec text) returns text language plpgsql as $$
declare
  v_detail text;
begin
  perform :SCHEMA.next_tick(spec, 0);
  return null;
exception when sqlstate 'HR007' then
  get stacked diagnostics v_detail = pg_exception_detail;
  return v_detail::json ->> 'reason';
end $$;

-- test: five fields, six fields, UTC
do $$
begin
  assert pg_temp.walk('* * * * *', '2026-11-29 12:00:00Z', 2) = array['2026-11-29 12:01:00', '2026-11-29 12:02:00'];
  assert pg_temp.walk('* * * * *', '2026-11-29 12:00:59.999Z', 1) = array['2026-11-29 12:01:00'];
  assert pg_temp.walk('* * * * * *', '2026-11-29 12:00:00Z', 2) = array['2026-11-29 12:00:01', '2026-11-29 12:00:02'];
  assert pg_temp.walk('15,45 30 6 * * *', '2026-11-29 06:30:15Z', 2) = array['2026-11-29 06:30:45', '2026-11-30 06:30:15'];
  assert pg_temp.walk('0 0 31 * *', '2026-11-29 00:00Z', 4)
    = array['2026-12-31 00:00:00', '2027-01-31 00:00:00', '2027-03-31 00:00:00', '2027-05-31 00:00:00'];
  assert pg_temp.walk('59 23 31 12 *', '2026-12-31 23:59:00Z', 1) = array['2027-12-31 23:59:00'];
  assert pg_temp.walk('  */20	8-9 * * *  ', '2026-11-29 08:20Z', 5) = array['2026-11-29 08:40:00',
    '2026-11-29 09:00:00', '2026-11-29 09:20:00', '2026-11-29 09:40:00', '2026-11-30 08:00:00'];
  assert :SCHEMA.next_tick('0 0 1 1 *', 0) = pg_temp.ms('1971-01-01 00:00Z');
end $$;

-- test: names, lists, ranges and steps
do $$
begin
  assert pg_temp.walk('0 0 1 jan,JUL *', '2026-11-29 00:00Z', 2) = array['2027-01-01 00:00:00', '2027-07-01 00:00:00'];
  assert pg_temp.walk('0 0 1 nov-DEC *', '2026-11-29 00:00Z', 2) = array['2026-12-01 00:00:00', '2027-11-01 00:00:00'];
  assert pg_temp.walk('5/20 * * * *', '2026-11-29 00:00Z', 4) = array['2026-11-29 00:05:00', '2026-11-29 00:25:00',
    '2026-11-29 00:45:00', '2026-11-29 01:05:00'];
  assert pg_temp.walk('10-30/10,7 * * * *', '2026-11-29 00:00Z', 5) = array['2026-11-29 00:07:00', '2026-11-29 00:10:00',
    '2026-11-29 00:20:00', '2026-11-29 00:30:00', '2026-11-29 01:07:00'];
end $$;

-- test: days of the week: 0 and 7 are Sunday, ranges go over the end of the week
do $$
declare
  v_spec text;
begin
  -- 2026-11-29 is a Sunday.
  foreach v_spec in array array['0 0 * * 0', '0 0 * * 7', '0 0 * * sun', '0 0 * * SUN', '0 0 * * 7-7', '0 0 * * 7-0'] loop
    assert pg_temp.walk(v_spec, '2026-11-28 00:00Z', 2) = array['2026-11-29 00:00:00', '2026-12-06 00:00:00'], v_spec;
  end loop;
  foreach v_spec in array array['0 0 * * 5-1', '0 0 * * FRI-MON', '0 0 * * 5-7,1', '0 0 * * 0,1,5,6'] loop
    assert pg_temp.walk(v_spec, '2026-11-24 00:00Z', 5) = array['2026-11-27 00:00:00', '2026-11-28 00:00:00',
      '2026-11-29 00:00:00', '2026-11-30 00:00:00', '2026-12-04 00:00:00'], v_spec;
  end loop;
  assert pg_temp.walk('0 0 * * fri-mon/2', '2026-11-24 00:00Z', 3)
    = array['2026-11-27 00:00:00', '2026-11-29 00:00:00', '2026-12-04 00:00:00'];
  assert :SCHEMA.next_tick('0 0 * * 4', 0) = 7 * 86400000 and :SCHEMA.next_tick('0 0 * * 5', 0) = 86400000;
  assert :SCHEMA.next_tick('CRON_TZ=America/New_York 0 23 * * 3', 0) = 4 * 3600000;
  assert pg_temp.walk('0 0 * * 0-7', '2026-11-28 00:00Z', 2) = array['2026-11-29 00:00:00', '2026-11-30 00:00:00'];
  assert pg_temp.walk('0 0 * * 1/2', '2026-11-28 00:00Z', 4)
    = array['2026-11-30 00:00:00', '2026-12-02 00:00:00', '2026-12-04 00:00:00', '2026-12-07 00:00:00'];
end $$;

-- test: day of month or day of week, where both are given
do $$
begin
  assert pg_temp.walk('0 0 1 * 1', '2026-11-29 00:00Z', 4)
    = array['2026-11-30 00:00:00', '2026-12-01 00:00:00', '2026-12-07 00:00:00', '2026-12-14 00:00:00'];
  -- A step is a restriction; only a bare * is none.
  assert pg_temp.walk('0 0 */10 * 1', '2026-11-29 00:00Z', 4)
    = array['2026-11-30 00:00:00', '2026-12-01 00:00:00', '2026-12-07 00:00:00', '2026-12-11 00:00:00'];
  assert pg_temp.walk('0 2 29 2 0', '2028-02-01 00:00Z', 6) = array['2028-02-06 02:00:00', '2028-02-13 02:00:00',
    '2028-02-20 02:00:00', '2028-02-27 02:00:00', '2028-02-29 02:00:00', '2029-02-04 02:00:00'];
end $$;

-- test: words
do $$
declare
  v_pair text[];
begin
  foreach v_pair slice 1 in array array[
    array['@hourly', '2026-11-29 13:00:00'], array['@daily', '2026-11-30 00:00:00'],
    array['@midnight', '2026-11-30 00:00:00'], array['@weekly', '2026-12-06 00:00:00'],
    array['@monthly', '2026-12-01 00:00:00'], array['@yearly', '2027-01-01 00:00:00'],
    array['@annually', '2027-01-01 00:00:00'], array['CRON_TZ=Europe/Berlin @daily', '2026-11-29 23:00:00']]
  loop
    assert pg_temp.walk(v_pair[1], '2026-11-29 12:00Z', 1) = array[v_pair[2]], v_pair[1];
  end loop;
end $$;

-- test: every n milliseconds, counted from the epoch
do $$
begin
  assert :SCHEMA.next_tick('@every:1000', 0) = 1000;
  assert :SCHEMA.next_tick('@every:1000', 999) = 1000;
  assert :SCHEMA.next_tick('@every:1000', 1000) = 2000;
  assert :SCHEMA.next_tick('@every:1', 1795960000123) = 1795960000124;
  assert :SCHEMA.next_tick('@every:7', 1795960000123) % 7 = 0;
  assert :SCHEMA.next_tick('@every:315576000000000', 5) = 315576000000000;
end $$;

-- test: a local time that occurs twice fires once, at the first (R-64)
do $$
begin
  assert :SCHEMA.next_tick('CRON_TZ=America/New_York 30 1 * * *', pg_temp.ms('2026-10-31 12:00-04')) = 1793511000000;
  assert :SCHEMA.next_tick('CRON_TZ=America/New_York 30 1 * * *', 1793511000000) = 1793601000000;
  -- Also from between the two occurrences, and from inside the second hour.
  assert :SCHEMA.next_tick('CRON_TZ=America/New_York 30 1 * * *', 1793511000000 + 1800000) = 1793601000000;
  assert :SCHEMA.next_tick('CRON_TZ=America/New_York 30 1 * * *', 1793511000000 + 3500000) = 1793601000000;
  assert :SCHEMA.next_tick('CRON_TZ=Europe/Berlin 30 2 * * *', pg_temp.ms('2026-10-24 12:00+02')) = 1792888200000;
  assert :SCHEMA.next_tick('CRON_TZ=Europe/Berlin 30 2 * * *', 1792888200000) = pg_temp.ms('2026-10-26 02:30+01');
  -- Hourly: the repeated hour is the same local time.
  assert :SCHEMA.next_tick('CRON_TZ=America/New_York 0 * * * *', 1730610000000) = 1730617200000;
  assert :SCHEMA.next_tick('CRON_TZ=America/New_York * * * * * *', 1730613600000 - 1000) = 1730617200000;
  -- Half an hour.
  assert :SCHEMA.next_tick('CRON_TZ=Australia/Lord_Howe 45 1 * * *', pg_temp.ms('2026-04-04 12:00Z'))
    = pg_temp.ms('2026-04-04 14:45Z');
  assert :SCHEMA.next_tick('CRON_TZ=Australia/Lord_Howe 45 1 * * *', pg_temp.ms('2026-04-04 14:45Z'))
    = pg_temp.ms('2026-04-05 15:15Z');
end $$;

-- test: a local time that does not exist is skipped (R-66)
do $$
begin
  assert pg_temp.walk('CRON_TZ=Africa/Cairo 0 0 * * *', '2026-04-22 12:00Z', 3)
    = array['2026-04-22 22:00:00', '2026-04-24 21:00:00', '2026-04-25 21:00:00'];
  assert pg_temp.walk('CRON_TZ=America/Santiago 0 0 * * *', '2026-09-04 12:00Z', 3)
    = array['2026-09-05 04:00:00', '2026-09-07 03:00:00', '2026-09-08 03:00:00'];
  assert pg_temp.walk('CRON_TZ=America/New_York 30 2 * * *', '2026-03-06 12:00Z', 3)
    = array['2026-03-07 07:30:00', '2026-03-09 06:30:00', '2026-03-10 06:30:00'];
  assert pg_temp.walk('CRON_TZ=America/New_York * * * * * *', '2026-03-08 06:59:59Z', 1) = array['2026-03-08 07:00:00'];
  -- A whole day: Samoa had no 30 December 2011.
  assert pg_temp.walk('CRON_TZ=Pacific/Apia 0 12 * * *', '2011-12-29 00:00Z', 2)
    = array['2011-12-29 22:00:00', '2011-12-30 22:00:00'];
end $$;

-- test: leap days, also over 2100 (R-67)
do $$
begin
  assert :SCHEMA.next_tick('0 9 29 2 *', pg_temp.ms('2026-11-29 00:00Z')) = 1835427600000;
  assert :SCHEMA.next_tick('0 9 29 2 *', pg_temp.ms('2096-03-01 00:00Z')) = 4233718800000;
  assert :SCHEMA.next_tick('CRON_TZ=Europe/Berlin 0 9 29 2 *', pg_temp.ms('2096-03-01 00:00Z')) = 4233718800000 - 3600000;
end $$;

-- test: dates that do not exist are refused (R-67)
do $$
declare
  v_spec text;
begin
  foreach v_spec in array array['0 0 30 2 *', '0 0 31 4,6,9,11 *', '0 0 31 2,4,6 *', '0 0 30,31 feb *'] loop
    assert pg_temp.refused(v_spec) like 'never fires%', v_spec;
  end loop;
  -- With a day of the week there always is one.
  assert pg_temp.refused('0 0 30 2 0') is null;
end $$;

-- test: what can't be read is refused, and says what is wrong
do $$
declare
  v_spec text;
begin
  foreach v_spec in array array[
    '60 * * * *', '* 24 * * *', '* * 0 * *', '* * 32 * *', '* * * 13 *', '* * * 0 *', '* * * * 8', '* * * * 1-8', '-1 * * * *',
    '5-1 * * * *', '* * * dec-jan *', '*/0 * * * *', '*/61 * * * *', '1-2-3 * * * *', '1,,2 * * * *', '1, * * * *', ',1 * * * *',
    '* * * jan-foo *', '* * * * monday', 'a * * * *', '*-5 * * * *', '* * * * *5', '1.5 * * * *', '100 * * * *', '+1 * * * *',
    '* * mon * *', '* * * * jan', '* * L * *', '* * ? * *', '* * * * 1#2', '60 * * * * *', '1/ * * * *', '/5 * * * *']
  loop
    assert pg_temp.refused(v_spec) like 'has a bad %', v_spec || ': ' || coalesce(pg_temp.refused(v_spec), 'accepted');
  end loop;
  foreach v_spec in array array[
    '* * * *', '* * * * * * *', 'hello', '@reboot', '@every', '@every:', '@every:1s', '@every:-5', '@every:1 ', '@every 5',
    'CRON_TZ=UTC @every:1000', 'CRON_TZ=UTC', 'TZ=UTC * * * * *', 'cron_tz=UTC * * * * *', '@daily x', '@fortnightly',
    'CRON_TZ=UTC CRON_TZ=UTC * * * * *']
  loop
    continue when v_spec = '@every:1 ';
    assert pg_temp.refused(v_spec) is not null, v_spec;
  end loop;
  assert pg_temp.refused('@every:0') like 'is out of bounds%';
  assert pg_temp.refused('@every:315576000000001') like 'is out of bounds%';
  assert pg_temp.refused('@every:99999999999999999999') is not null;
  assert pg_temp.refused('') like 'must not be empty%';
  assert pg_temp.refused('   ') is not null;
  assert pg_temp.refused(null) like 'must not be empty%';
  assert pg_temp.refused(repeat('1,', 600) || '1 * * * *') like 'is too long%';
end $$;

-- test: a zone is a name, no abbreviation and no rule
do $$
declare
  v_zone text;
begin
  foreach v_zone in array array['Mars/Phobos', 'Europe/Berlim', '', 'CET', 'EST', 'CEST', 'MSK', 'europe/berlin', 'FOO+5', 'Etc/GMT+99',
    'Mars/Phobos+3', '<+03>-3', 'Europe/', '/Europe', '../UTC', 'localtime', 'posixrules', repeat('A', 60) || '/Berlin', 'Europe/Berlin,M3.2.0',
    '+02', 'right/UTC', E'Europe/Ber\\lin', 'Europe/Bérlin']
  loop
    assert pg_temp.refused('CRON_TZ=' || v_zone || ' 0 0 * * *') like 'has an unknown time zone%', v_zone;
  end loop;
  foreach v_zone in array array['UTC', 'GMT', 'Etc/UTC', 'Etc/GMT+5', 'Etc/GMT-14', 'America/Argentina/Buenos_Aires',
    'America/Port-au-Prince', 'US/Eastern', 'Antarctica/DumontDUrville']
  loop
    assert pg_temp.refused('CRON_TZ=' || v_zone || ' 0 0 * * *') is null, v_zone;
  end loop;
  assert :SCHEMA.next_tick('CRON_TZ=Etc/GMT+5 0 0 * * *', 0) = 5 * 3600000;
end $$;

-- test: the instant has bounds
do $$
declare
  v_bad bigint;
begin
  foreach v_bad in array array[-1, 253402300800000, null] loop
    begin
      perform :SCHEMA.next_tick('* * * * *', v_bad);
      assert false, 'accepted ' || coalesce(v_bad::text, 'null');
    exception when sqlstate 'HR007' then
      null;
    end;
  end loop;
  assert :SCHEMA.next_tick('* * * * *', 253402300799999) = 253402300800000;
end $$;

-- test: no setting of the session matters (R-72)
do $$
declare
  v_specs text[] := array['CRON_TZ=America/New_York 30 1 * * *', 'CRON_TZ=Asia/Kathmandu 0 0 1 * *', '0 0 * * *', '@weekly',
    'CRON_TZ=Africa/Casablanca */7 3 * * 1'];
  v_zone text;
  v_style text;
  v_expected bigint[];
  v_got bigint[];
begin
  foreach v_zone in array array['UTC', 'Asia/Kathmandu', 'America/New_York', 'Pacific/Apia', 'Europe/Dublin'] loop
    foreach v_style in array array['ISO, MDY', 'German', 'SQL, DMY', 'Postgres, YMD'] loop
      perform set_config('TimeZone', v_zone, true), set_config('DateStyle', v_style, true),
        set_config('IntervalStyle', 'sql_standard', true), set_config('timezone_abbreviations', 'Australia', true);
      v_got := array(
        select :SCHEMA.next_tick(s, 1793484000000 + d * 86400000 / 3) from unnest(v_specs) s, generate_series(0, 20) d);
      v_expected := coalesce(v_expected, v_got);
      assert v_got = v_expected, v_zone || ' ' || v_style;
    end loop;
  end loop;
  assert v_expected[1] = 1793511000000, v_expected[1]::text;
end $$;

-- test: counting agrees with walking
do $$
declare
  v_spec text;
  v_from bigint;
  v_rule :SCHEMA.schedule_rule;
  v_walked bigint[];
  v_most integer;
begin
  foreach v_spec in array array['*/7 * * * *', 'CRON_TZ=America/New_York */13 0-3 * * *', 'CRON_TZ=Australia/Lord_Howe 5 * * * *',
    'CRON_TZ=Africa/Cairo 0,30 0 * * *', 'CRON_TZ=Europe/Berlin 30 2 * * 0', '@every:1234567', '0 12 1-7 * 3']
  loop
    v_rule := :SCHEMA.read_spec(v_spec);
    foreach v_from in array array[pg_temp.ms('2026-03-07 11:00:00Z'), pg_temp.ms('2026-11-01 05:30:30.5Z'),
      pg_temp.ms('2026-10-25 00:45Z'), pg_temp.ms('2026-04-04 14:50Z'), pg_temp.ms('2026-04-23 00:00Z')]
    loop
      v_walked := :SCHEMA.first_ticks(v_rule, v_from, v_from + 5 * 86400000, 1000000);
      assert cardinality(v_walked) = :SCHEMA.count_ticks(v_rule, v_from, v_from + 5 * 86400000), v_spec || ' ' || v_from;
      foreach v_most in array array[1, 2, 10] loop
        assert :SCHEMA.newest_ticks(v_rule, v_from, v_from + 5 * 86400000, v_most)
          = v_walked[greatest(cardinality(v_walked) - v_most + 1, 1):], v_spec || ' ' || v_from || ' ' || v_most;
      end loop;
    end loop;
  end loop;
end $$;
