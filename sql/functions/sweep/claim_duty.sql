create or replace function :SCHEMA.claim_duty(name text, holder text, lease_ms bigint)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('name', claim_duty.name, 255);
  perform :SCHEMA.check_text('holder', claim_duty.holder, 255);
  perform :SCHEMA.check_duration('lease_ms', claim_duty.lease_ms);
  -- Most callers belong to a fleet in which somebody else has it: that is to cost no write.
  if exists (
      select from :SCHEMA.duty d
      where d.name = claim_duty.name and d.holder <> claim_duty.holder
        and d.expires_at_ms >= :SCHEMA.now_ms())
  then
    return false;
  end if;
  -- Who can't have the row now is not to wait for it: somebody is claiming it.
  perform from :SCHEMA.duty d where d.name = claim_duty.name for update skip locked;
  if not found and exists (select from :SCHEMA.duty d where d.name = claim_duty.name) then
    return false;
  end if;
  insert into :SCHEMA.duty as d (name, holder, expires_at_ms)
  values (claim_duty.name, claim_duty.holder, :SCHEMA.now_ms() + claim_duty.lease_ms)
  on conflict (name) do update
    set holder = excluded.holder, expires_at_ms = excluded.expires_at_ms
    where d.holder = excluded.holder or d.expires_at_ms < :SCHEMA.now_ms();
  return found;
end;
$$;
comment on function :SCHEMA.claim_duty is
  'Claims or renews a duty for lease_ms: true where it is free, expired or already the holder''s. Never '
  'waits. Errors: HR007.';
revoke all on function :SCHEMA.claim_duty from public;
