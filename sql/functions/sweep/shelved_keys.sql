create or replace function :SCHEMA.shelved_keys(sweep text)
returns bigint[]
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select array(
    select e.subject::bigint
    from :SCHEMA.sweep_error e
    where e.sweep = shelved_keys.sweep and e.subject ~ '^[0-9]{1,18}$'
      and e.at_ms > :SCHEMA.now_ms() - (60000 << least(e.times - 1, 4)::integer));
$$;
comment on function :SCHEMA.shelved_keys is
  'Jobs that a sweep could not move a short while ago. It passes over them, so that the others do not suffer '
  'from them at each run, and tries them again after a minute, then two, four, eight, and every sixteen.';
revoke all on function :SCHEMA.shelved_keys from public;
