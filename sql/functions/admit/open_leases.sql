create or replace function :SCHEMA.open_leases(
  chosen :SCHEMA.candidate[], own_leases text[], worker text, lease_id text, at_ms bigint,
    expires_at_ms bigint
)
returns bigint[]
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
as $$
#variable_conflict use_variable
declare
  v_keys bigint[];
  v_shared bigint;
  v_leases bigint[];
begin
  select array_agg(c.key) into v_keys from unnest(chosen) c where c.queue <> all (own_leases);
  if v_keys is not null then
    v_shared := :SCHEMA.open_lease(v_keys, worker, lease_id, at_ms, expires_at_ms);
  end if;
  with own as (
    insert into :SCHEMA.lease (lease_id, worker, queue, partition_key, claimed_at_ms, expires_at_ms, keys)
    select lease_id, worker, c.queue, c.partition_key, at_ms, expires_at_ms, array_agg(c.key)
    from unnest(chosen) c
    where c.queue = any (own_leases)
    group by c.queue, c.partition_key
    returning lease.lease_no, lease.queue, lease.partition_key
  )
  select array_agg(coalesce(o.lease_no, v_shared) order by c.ordinality)
  into v_leases
  from unnest(chosen) with ordinality c
  left join own o on o.queue = c.queue and o.partition_key = c.partition_key;
  return v_leases;
end;
$$;
comment on function :SCHEMA.open_leases is
  'Writes the leases of jobs about to be claimed and returns their numbers, one for each job: a lease for '
  'each partition of a queue under a ceiling (own_leases), by which its running jobs are counted '
  '(running_in), and one for all the others.';
revoke all on function :SCHEMA.open_leases from public;
