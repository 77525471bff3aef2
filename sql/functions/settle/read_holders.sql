create or replace function :SCHEMA.read_holders(leases json)
returns :SCHEMA.ack_input[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_holders :SCHEMA.ack_input[];
  v_values bigint;
begin
  if json_typeof(leases) is distinct from 'array' or json_array_length(leases) > 100000 then
    perform :SCHEMA.raise_invalid('leases', 'must be a list', '0..100000 objects of job_id, lease_id, fence');
  end if;
  begin
    select array_agg(cast(row(r.ord, r.job_id,
        case
          when length(r.job_id) = 17 and r.job_id ~ '^j[0-9a-f]+$'
            then ('x' || substr(r.job_id, 2))::bit(64)::bigint
          else (select j.key from :SCHEMA.job j where j.id = r.job_id)
        end,
        r.lease_id, r.fence, null, null, null, null, null, null, null) as :SCHEMA.ack_input) order by r.ord),
      sum(num_nonnulls(r.job_id, r.lease_id, r.fence))
    into v_holders, v_values
    from rows from (json_to_recordset(leases) as (job_id text, lease_id text, fence bigint)) with ordinality
      as r(job_id, lease_id, fence, ord);
    -- A key has a colon behind it: as many as there are values, and each is one of these.
    if v_values <> octet_length(leases::text) - octet_length(replace(leases::text, ':', '')) then
      perform :SCHEMA.check_item_keys(leases, 'lease', '{job_id,lease_id,fence}');
    end if;
  exception when data_exception or invalid_parameter_value then
    perform :SCHEMA.raise_invalid('leases', sqlerrm, 'objects of job_id, lease_id, fence');
  end;
  return coalesce(v_holders, '{}');
end;
$$;
comment on function :SCHEMA.read_holders is
  'A JSON list of {job_id, lease_id, fence} as rows; HR007 where it is none or has an unknown key.';
revoke all on function :SCHEMA.read_holders from public;
