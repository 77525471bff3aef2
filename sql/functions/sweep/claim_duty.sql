create or replace function :SCHEMA.claim_duty(name text, holder text, lease_ms bigint)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_now bigint;
begin
  perform :SCHEMA.check_text('name', claim_duty.name, 255);
  perform :SCHEMA.check_text('holder', claim_duty.holder, 255);
  perform :SCHEMA.check_duration('lease_ms', claim_duty.lease_ms);
  -- Most callers belong to a fleet in which somebody else has it: that is to cost no write.
  if exists (
      select from :SCHEMA.duty d
      where d.name = claim_duty.name and d.holder <> claim_duty.holder
        and :SCHEMA.now_ms() between d.claimed_at_ms and d.expires_at_ms)
  then
    return false;
  end if;
  -- Who can't have the row now is not to wait for it: somebody is claiming it.
  perform from :SCHEMA.duty d where d.name = claim_duty.name for update skip locked;
  if not found and exists (select from :SCHEMA.duty d where d.name = claim_duty.name) then
    return false;
  end if;
  v_now := :SCHEMA.now_ms();
  -- The clock has stepped back since: the lease lasts as long as it was to last, not as long as the step.
  update :SCHEMA.duty d
  set claimed_at_ms = v_now, expires_at_ms = v_now + d.expires_at_ms - d.claimed_at_ms
  where d.name = claim_duty.name and d.claimed_at_ms > v_now;
  insert into :SCHEMA.duty as d (name, holder, claimed_at_ms, expires_at_ms)
  values (claim_duty.name, claim_duty.holder, v_now, v_now + claim_duty.lease_ms)
  on conflict (name) do update
    set holder = excluded.holder, claimed_at_ms = excluded.claimed_at_ms,
      expires_at_ms = excluded.expires_at_ms
    where d.holder = excluded.holder or d.expires_at_ms < v_now;
  return found;
end;
$$;
comment on function :SCHEMA.claim_duty is
  'Claims or renews a duty for lease_ms: true where it is free, expired or already the holder''s. Never '
  'waits. Errors: HR007.';
revoke all on function :SCHEMA.claim_duty from public;
