create or replace function :SCHEMA.running_by_partition(queue text, partition_keys text[])
returns table (partition_key text, running bigint)
language plpgsql
stable
rows 10
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
    select l.partition_key, count(*)
    from :SCHEMA.lease l
    cross join lateral unnest(l.keys) k(key)
    cross join lateral (
      select from :SCHEMA.job o where o.key = k.key and o.lease_no = l.lease_no offset 0) j
    where l.queue = running_by_partition.queue and l.partition_key = any (running_by_partition.partition_keys)
    group by l.partition_key;
end;
$$;
comment on function :SCHEMA.running_by_partition is
  'How many jobs of each partition run, in a queue that has a ceiling: counted from the leases, so that no '
  'slot can leak. No row where none runs.';
revoke all on function :SCHEMA.running_by_partition from public;
