create or replace function :SCHEMA.open_leases(
  demands :SCHEMA.demand[], own_leases text[], worker text, lease_id text, at_ms bigint, expires_at_ms bigint
)
returns bigint[]
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_numbers bigint[];
  v_leases bigint[];
begin
  -- The rows are written, and so numbered, in the order of the demands.
  with opened as (
    insert into :SCHEMA.lease (lease_id, worker, queue, partition_key, claimed_at_ms, expires_at_ms, keys)
    select open_leases.lease_id, open_leases.worker,
      case when d.queue = any (open_leases.own_leases) then d.queue end,
      case when d.queue = any (open_leases.own_leases) then d.partition_key end,
      open_leases.at_ms, open_leases.expires_at_ms, d.keys
    from unnest(demands) d
    returning lease.lease_no
  )
  select array_agg(o.lease_no order by o.lease_no) into v_numbers from opened o;
  for v_at in 1 .. cardinality(v_numbers) loop
    v_leases[demands[v_at].lane] := v_numbers[v_at];
  end loop;
  return v_leases;
end;
$$;
comment on function :SCHEMA.open_leases is
  'Writes the leases of jobs about to be claimed, one for each line, and returns their numbers by the place '
  'of the line. Those of a queue under a ceiling (own_leases) name their partition, by which its running '
  'jobs are counted (running_in).';
revoke all on function :SCHEMA.open_leases from public;
