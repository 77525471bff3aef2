create or replace function :SCHEMA.backend_count_jobs(status text default null)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_states :SCHEMA.job_state[] := :SCHEMA.backend_states(backend_count_jobs.status);
begin
  if backend_count_jobs.status is null then
    return (select count(*) from :SCHEMA.job);
  elsif backend_count_jobs.status in ('queued', 'running') then
    return (select count(*) from :SCHEMA.job j where j.stage < 2 and j.state = any (v_states));
  end if;
  return (
    select count(*) from :SCHEMA.job j
    where j.stage <> 1 and j.shelf = any (:SCHEMA.shelves_of(cast(v_states as text[]))));
end;
$$;
comment on function :SCHEMA.backend_count_jobs is
  'How many jobs there are, of one status or all; exact. Errors: HR007.';
revoke all on function :SCHEMA.backend_count_jobs from public;
