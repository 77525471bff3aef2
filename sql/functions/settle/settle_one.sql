create or replace function :SCHEMA.settle_one(ack :SCHEMA.ack_input)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_acks :SCHEMA.ack_input[];
  v_settled :SCHEMA.settled_job[];
begin
  ack.ord := 1;
  ack.key := coalesce(:SCHEMA.generated_key(ack.id), (select j.key from :SCHEMA.job j where j.id = ack.id));
  ack.error := :SCHEMA.cut_text(ack.error, 8192);
  ack.logs := :SCHEMA.cut_logs(ack.logs);
  v_acks := array[ack];
  perform :SCHEMA.check_acks(v_acks);
  v_settled := :SCHEMA.settle(v_acks);
  if v_settled = '{}' then
    perform :SCHEMA.raise_rejected(ack.id);
  end if;
  return v_settled[1].state;
end;
$$;
comment on function :SCHEMA.settle_one is
  'Ends one attempt as asked, without its ord and key, and returns the state reached. Errors: HR005 '
  'lease_rejected, HR007 invalid.';
revoke all on function :SCHEMA.settle_one from public;
