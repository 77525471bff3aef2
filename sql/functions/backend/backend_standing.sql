create or replace function :SCHEMA.backend_standing(input :SCHEMA.backend_input)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_job :SCHEMA.job;
begin
  if (input.job).id is not null then
    select j.* into v_job from :SCHEMA.job j where j.key = :SCHEMA.job_key((input.job).id);
    if found then
      perform :SCHEMA.backend_check_same(v_job, input);
      return (input.job).id;
    end if;
  end if;
  if (input.job).unique_key is not null then
    return (
      select :SCHEMA.job_id(j.key, j.id) from :SCHEMA.job j where j.unique_key = (input.job).unique_key
        and j.stage < 2);
  end if;
  return null;
end;
$$;
comment on function :SCHEMA.backend_standing is
  'The job that is there already for this one: the same id with the same content, or a live job with its '
  'idempotency key; null where there is none. HR002 where the id has other content.';
revoke all on function :SCHEMA.backend_standing from public;
