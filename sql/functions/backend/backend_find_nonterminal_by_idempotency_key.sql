create or replace function :SCHEMA.backend_find_nonterminal_by_idempotency_key(idempotency_key text)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  if idempotency_key = '' then
    return null;
  end if;
  perform :SCHEMA.check_text('idempotency_key', idempotency_key, 1024);
  return (
    select :SCHEMA.job_id(j.key, j.id) from :SCHEMA.job j
    where j.unique_key = :SCHEMA.scoped_unique_key('', convert_to(idempotency_key, 'UTF8'), 'global')
      and j.stage < 2);
end;
$$;
comment on function :SCHEMA.backend_find_nonterminal_by_idempotency_key is
  'The live job with an idempotency key; null where there is none, and for the empty key. Errors: HR007.';
revoke all on function :SCHEMA.backend_find_nonterminal_by_idempotency_key from public;
