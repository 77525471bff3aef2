create or replace function :SCHEMA.duty_names()
returns text[]
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select array[
    'reclaim_expired',
    'promote_due',
    'tick_schedules',
    'expire_deadlines',
    'quarantine_sweep',
    'evict_retained',
    'roll_up_tallies',
    'run_pending_operations',
    'janitor',
    'make_archive_months'];
$$;
comment on function :SCHEMA.duty_names is 'What run_duties knows, in the order in which it runs it.';
revoke all on function :SCHEMA.duty_names from public;
