create or replace function :SCHEMA.read_acks(acks json, places bigint[] default null)
returns :SCHEMA.ack_input[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_acks :SCHEMA.ack_input[] := :SCHEMA.read_list(acks, 'acks', 'ack', 10000, '{job_id,lease_id,fence,'
    'outcome,error,delay_ms,logs,actual_weight,result_schema_version,result_base64}');
begin
  perform :SCHEMA.check_acks(v_acks, places);
  return v_acks;
end;
$$;
comment on function :SCHEMA.read_acks is
  'The JSON of ack_many as rows, checked: HR007 for the first bad value or unknown key; places as for '
  'check_acks. Texts and logs are cut to their limits.';
revoke all on function :SCHEMA.read_acks from public;
