create or replace function :SCHEMA.backend_count_jobs(status text default null)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_shelves smallint[] := :SCHEMA.shelves_of(cast(:SCHEMA.backend_states(backend_count_jobs.status) as
    text[]));
  v_counted bigint := 0;
begin
  -- The depths of queues are exact, and what runs is found by the leases: no backlog is read.
  if backend_count_jobs.status is null or backend_count_jobs.status = 'queued' then
    v_counted := :SCHEMA.unfinished_jobs();
  end if;
  if backend_count_jobs.status in ('queued', 'running') then
    return abs(v_counted - (
      select count(*)
      from :SCHEMA.lease l
      cross join lateral unnest(l.keys) k(key)
      cross join lateral (
        select from :SCHEMA.job o where o.key = k.key and o.lease_no = l.lease_no offset 0) j));
  end if;
  return v_counted + (
    select count(*) from :SCHEMA.job j
    where j.stage <> 1 and j.shelf = any (v_shelves) and j.shelf >= 4);
end;
$$;
comment on function :SCHEMA.backend_count_jobs is
  'How many jobs there are, of one status or all; exact. Errors: HR007.';
revoke all on function :SCHEMA.backend_count_jobs from public;
