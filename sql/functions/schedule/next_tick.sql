create or replace function :SCHEMA.next_tick(spec text, after_ms bigint)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_next_ms bigint;
begin
  perform :SCHEMA.check_range('after_ms', after_ms, 0, 253402300799999);
  v_next_ms := :SCHEMA.next_instant(:SCHEMA.read_spec(spec), after_ms);
  if v_next_ms is null then
    perform :SCHEMA.raise_invalid('spec', 'never fires', 'a time that exists');
  end if;
  return v_next_ms;
end;
$$;
comment on function :SCHEMA.next_tick is
  'The first tick of a spec strictly after an instant; both in ms since the epoch. A spec is cron with 5 '
  'fields (minute, hour, day of month, month, day of week) or 6 (second first), with names, lists, ranges '
  'and steps, in UTC or behind CRON_TZ=Zone; or @hourly, @daily, @midnight, @weekly, @monthly, @yearly, '
  '@annually; or @every:<ms>, counted from the epoch. Local times that do not exist are skipped; those that '
  'occur twice fire once, at the first. Errors: HR007.';
revoke all on function :SCHEMA.next_tick from public;
