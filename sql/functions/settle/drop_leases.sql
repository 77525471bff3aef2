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
  -- Who ends jobs of several leases must not wait here for a renewal that has locked one of them and wants
  -- the next. Where the two miss each other, or two ends of the same lease, its row stays until it expires;
  -- it counts nobody.
  delete from :SCHEMA.lease l
  where l.lease_no = any (array(
    select o.lease_no from :SCHEMA.lease o
    where o.lease_no = any (leases) and o.queue is not null
      and not exists (
        select from unnest(o.keys) k(key)
        cross join lateral (select from :SCHEMA.job j where j.key = k.key
          and j.lease_no = o.lease_no offset 0) j)
    for update of o skip locked));
end;
$$;
comment on function :SCHEMA.drop_leases is
  'Removes leases under a ceiling none of whose jobs is held any more.';
revoke all on function :SCHEMA.drop_leases from public;
