create or replace function :SCHEMA.read_list(items json, field text, item text, most integer, known text[])
returns :SCHEMA.ack_input[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_list :SCHEMA.ack_input[];
  v_values bigint;
  v_more bigint;
begin
  if json_typeof(items) is distinct from 'array' or json_array_length(items) > most then
    perform :SCHEMA.raise_invalid(field, 'must be a list', '0..' || most || ' objects');
  end if;
  begin
    select array_agg(cast(row(r.ord, r.job_id,
        coalesce(:SCHEMA.generated_key(r.job_id), (select j.key from :SCHEMA.job j where j.id = r.job_id)),
        r.lease_id, r.fence, r.outcome,
        case when r.error is not null then :SCHEMA.cut_text(r.error, 8192) end, r.delay_ms,
        case when r.logs is not null then :SCHEMA.cut_logs(r.logs::jsonb) end,
        r.actual_weight, r.result_schema_version,
        decode(r.result_base64, 'base64')) as :SCHEMA.ack_input) order by r.ord),
      sum(num_nonnulls(r.job_id, r.lease_id, r.fence)),
      sum(num_nonnulls(r.outcome, r.error, r.delay_ms, r.logs, r.actual_weight, r.result_schema_version,
        r.result_base64))
    into v_list, v_values, v_more
    from rows from (json_to_recordset(items) as (
      job_id text, lease_id text, fence bigint, outcome text, error text, delay_ms bigint, logs json,
      actual_weight integer, result_schema_version integer, result_base64 text)) with ordinality
      as r(job_id, lease_id, fence, outcome, error, delay_ms, logs, actual_weight, result_schema_version,
        result_base64, ord);
    -- A key has a colon behind it: as many as there are values, and each is one of these.
    if v_values + v_more <> octet_length(items::text) - octet_length(replace(items::text, ':', ''))
      or v_more > 0 and cardinality(known) = 3 then
      perform :SCHEMA.check_item_keys(items, item, known);
    end if;
  exception when data_exception or invalid_parameter_value then
    perform :SCHEMA.raise_invalid(field, sqlerrm, 'objects of ' || array_to_string(known, ', '));
  end;
  return coalesce(v_list, '{}');
end;
$$;
comment on function :SCHEMA.read_list is
  'A JSON list of acks, or of {job_id, lease_id, fence}, as rows; HR007 about field where it is none, is '
  'longer than most, or one of it, called item in the message, has a key that is not known. Texts and logs '
  'are cut to their limits.';
revoke all on function :SCHEMA.read_list from public;
