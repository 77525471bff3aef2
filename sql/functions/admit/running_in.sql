create or replace function :SCHEMA.running_in(queue text, partition_key text)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return (
    select count(*)
    from :SCHEMA.lease l
    cross join lateral unnest(l.keys) k(key)
    cross join lateral (
      select from :SCHEMA.job o where o.key = k.key and o.lease_no = l.lease_no offset 0) j
    where l.queue = running_in.queue and l.partition_key = running_in.partition_key);
end;
$$;
comment on function :SCHEMA.running_in is
  'How many jobs of a partition run, in a queue that has a ceiling: counted from the leases, so that no slot can leak.';
revoke all on function :SCHEMA.running_in from public;
