create or replace function :SCHEMA.unfinished_jobs()
returns bigint
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce((select sum(d.depth) from :SCHEMA.queue_depth d), 0)::bigint
    + coalesce((select sum(t.depth) from :SCHEMA.tally t), 0)::bigint;
$$;
comment on function :SCHEMA.unfinished_jobs is
  'How many jobs of all queues are not finished, running ones among them; exact, and no job is read.';
revoke all on function :SCHEMA.unfinished_jobs from public;
