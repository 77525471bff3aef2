create or replace function :SCHEMA.has_refusal(placed :SCHEMA.placed_job[])
returns boolean
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
    select from unnest(placed) p where p.disposition in ('duplicate', 'id_conflict', 'quarantined',
      'backpressure'));
end;
$$;
comment on function :SCHEMA.has_refusal is 'Whether one of the jobs was refused, and with it its batch.';
revoke all on function :SCHEMA.has_refusal from public;
