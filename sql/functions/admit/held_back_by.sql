create or replace function :SCHEMA.held_back_by(job :SCHEMA.job)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now bigint := :SCHEMA.now_ms();
begin
  if exists (select from :SCHEMA.queue q where q.queue = job.queue and q.paused) then
    return 'paused';
  elsif exists (
    select from :SCHEMA.quarantine q
    where q.fingerprint = coalesce(job.fingerprint, :SCHEMA.fingerprint(job.kind, job.payload)))
  then
    return 'quarantine';
  elsif job.deadline_ms <= v_now then
    return 'deadline';
  elsif exists (
    select from :SCHEMA.rate_class r
    where r.name = any (job.rate_classes) and :SCHEMA.class_tokens(r, v_now) < least(job.weight, r.burst))
  then
    return 'rate_class';
  elsif exists (
    select from :SCHEMA.concurrency_limit m
    where m.queue = job.queue and m.on_saturated <> 'cancel_running'
      and :SCHEMA.running_in(job.queue, job.partition_key) >= m.max_concurrent)
  then
    return 'concurrency_limit';
  end if;
  return null;
end;
$$;
comment on function :SCHEMA.held_back_by is
  'What would hold an available job back if it were first in line now: paused, quarantine, deadline, '
  'rate_class, concurrency_limit, or null.';
revoke all on function :SCHEMA.held_back_by from public;
