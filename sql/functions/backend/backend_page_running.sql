create or replace function :SCHEMA.backend_page_running(skip bigint, max_rows integer)
returns bigint[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  -- The lease of jobs that have ended stays until it expires: a busy install has many, also with little to
  -- do.
  if exists (select from :SCHEMA.lease l offset greatest(2000, :SCHEMA.unfinished_jobs()) limit 1) then
    return array(
      select j.key from :SCHEMA.job j
      where j.stage = 1 and j.state = 'running'
      order by j.key + 0
      offset skip limit max_rows);
  end if;
  return array(
    select j.key
    from :SCHEMA.lease l
    cross join lateral unnest(l.keys) k(key)
    cross join lateral (
      select o.key from :SCHEMA.job o where o.key = k.key and o.lease_no = l.lease_no offset 0) j
    order by j.key
    offset skip limit max_rows);
end;
$$;
comment on function :SCHEMA.backend_page_running is
  'The keys of running jobs, oldest first, for backend_list_jobs: read from the leases, or from the jobs in '
  'line where fewer are unfinished than there are leases.';
revoke all on function :SCHEMA.backend_page_running from public;
