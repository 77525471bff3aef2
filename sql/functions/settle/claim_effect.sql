create or replace function :SCHEMA.claim_effect(key text)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform :SCHEMA.check_text('key', claim_effect.key, 512);
  insert into :SCHEMA.effect (effect_key, at_ms)
  values (claim_effect.key, :SCHEMA.now_ms())
  on conflict do nothing;
  return found;
end;
$$;
comment on function :SCHEMA.claim_effect is
  'True for the first transaction that claims this effect; false where one that has committed did. Waits for '
  'one that is still open. Call it in the transaction of the effect. The claim is forgotten after 30 days '
  '(janitor). Errors: HR007.';
revoke all on function :SCHEMA.claim_effect from public;
