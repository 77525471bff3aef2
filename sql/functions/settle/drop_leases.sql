create or replace function :SCHEMA.drop_leases(leases bigint[])
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  -- Where two ends of the same lease miss each other, its row stays until it expires; it counts nobody.
  delete from :SCHEMA.lease l
  where l.lease_no = any (leases) and l.queue is not null
    and not exists (
      select from unnest(l.keys) k(key)
      cross join lateral (select from :SCHEMA.job o where o.key = k.key
        and o.lease_no = l.lease_no offset 0) j);
end;
$$;
comment on function :SCHEMA.drop_leases is
  'Removes leases under a ceiling none of whose jobs is held any more.';
revoke all on function :SCHEMA.drop_leases from public;
