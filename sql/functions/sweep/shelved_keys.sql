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
      and e.at_ms > :SCHEMA.now_ms() - 60000);
$$;
comment on function :SCHEMA.shelved_keys is
  'Jobs that a sweep could not move within the last minute. It passes over them, so that the others need not '
  'be moved one by one at each run, and tries them again when the minute is over.';
revoke all on function :SCHEMA.shelved_keys from public;
