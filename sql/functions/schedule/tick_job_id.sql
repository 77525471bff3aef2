create or replace function :SCHEMA.tick_job_id(schedule_id text, tick_ms bigint)
returns text
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select 'sched-' || case
      when octet_length(schedule_id) <= 200 then schedule_id
      else encode(sha256(convert_to(schedule_id, 'UTF8')), 'hex')
    end || '-' || tick_ms;
$$;
comment on function :SCHEMA.tick_job_id is
  'The id of the job of a tick; an id that would be too long has a hash of the schedule''s id in it.';
revoke all on function :SCHEMA.tick_job_id from public;
