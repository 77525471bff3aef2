create or replace function :SCHEMA.backend_open_runs(claims :SCHEMA.claim[], worker text, single boolean)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  insert into :SCHEMA.attempt (job_key, job_id, kind, queue, attempt, fence, worker, started_at_ms, run_id)
  select :SCHEMA.job_key(c.id), c.id, c.kind, c.queue, least(c.attempt, 2147483646) + 1, c.fence,
    backend_open_runs.worker, :SCHEMA.now_ms(), case when single then c.lease_id
      else gen_random_uuid()::text end
  from unnest(claims) c;
  delete from :SCHEMA.run_lease r where r.job_id in (select c.id from unnest(claims) c);
end;
$$;
comment on function :SCHEMA.backend_open_runs is
  'Opens the runs of claims, in their transaction. The run of a single claim is called as its lease; '
  'reservations of the jobs end.';
revoke all on function :SCHEMA.backend_open_runs from public;
