create or replace function :SCHEMA.backend_expired_lease_job_pairs(max_rows integer default 1000)
returns table (lease_id text, job_id text)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
begin
  perform :SCHEMA.check_max_rows(max_rows);
  return query
    select e.lease_id, e.job_id
    from (
      select h.lease_id, h.job_id, h.expires_at_ms
      from (
        select l.* from :SCHEMA.lease l
        where l.expires_at_ms <= v_now
        order by l.expires_at_ms
        limit backend_expired_lease_job_pairs.max_rows) l
      cross join lateral (
        select coalesce(a.run_id, l.lease_id) as lease_id, :SCHEMA.job_id(j.key, j.id) as job_id,
          l.expires_at_ms
        from unnest(l.keys) k(key)
        join :SCHEMA.job j on j.key = k.key and j.lease_no = l.lease_no and j.state = 'running'
        left join :SCHEMA.attempt a on a.job_key = j.key and a.finished_at_ms is null and a.fence = j.fence) h
      union all
      (select r.lease_id, r.job_id, r.expires_at_ms
       from :SCHEMA.run_lease r
       where r.expires_at_ms <= v_now
       order by r.expires_at_ms
       limit backend_expired_lease_job_pairs.max_rows)) e
    order by e.expires_at_ms, e.job_id
    limit backend_expired_lease_job_pairs.max_rows;
end;
$$;
comment on function :SCHEMA.backend_expired_lease_job_pairs is
  'Leases that have expired, with their jobs: of jobs that still count as running, which reclaim_expired '
  'takes back, and reservations. Oldest first, at most max_rows. Errors: HR007.';
revoke all on function :SCHEMA.backend_expired_lease_job_pairs from public;
