create or replace function :SCHEMA.job_key(id text)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_key bigint := :SCHEMA.generated_key(job_key.id);
begin
  return case
    when v_key is not null then (select j.key from :SCHEMA.job j where j.key = v_key and j.id is null)
    else (select j.key from :SCHEMA.job j where j.id = job_key.id)
  end;
end;
$$;
comment on function :SCHEMA.job_key is 'The key of the job with this public id; null where there is none.';
revoke all on function :SCHEMA.job_key from public;
