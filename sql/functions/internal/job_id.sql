create or replace function :SCHEMA.job_id(key bigint, id text)
returns text
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(job_id.id, 'j' || lpad(to_hex(job_id.key), 16, '0'));
end;
$$;
comment on function :SCHEMA.job_id is
  'The public id of a job: the one its producer chose, else j and 16 hex digits of the key.';
revoke all on function :SCHEMA.job_id from public;
