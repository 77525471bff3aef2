create or replace function :SCHEMA.lock_enqueue_limits(jobs :SCHEMA.job_input[])
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from :SCHEMA.queue q
  where q.max_unfinished_jobs is not null and q.queue in (select j.queue from unnest(jobs) j)
  order by q.queue
  for update;
  return found;
end;
$$;
comment on function :SCHEMA.lock_enqueue_limits is
  'Locks, in order of name, the queues among these jobs that have a limit; false where none has, and then '
  'nothing is locked.';
revoke all on function :SCHEMA.lock_enqueue_limits from public;
