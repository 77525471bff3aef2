create or replace function :SCHEMA.trim_attempts(job_key bigint)
returns void
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  delete from :SCHEMA.attempt a
  where a.job_key = trim_attempts.job_key
    and a.no < (
      select n.no from :SCHEMA.attempt n
      where n.job_key = trim_attempts.job_key
      order by n.no desc
      offset 49 limit 1);
$$;
comment on function :SCHEMA.trim_attempts is 'Keeps the newest 50 entries of a job''s history.';
revoke all on function :SCHEMA.trim_attempts from public;
