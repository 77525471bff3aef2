create or replace function :SCHEMA.quarantine_list(before_ms bigint default null,
  max_rows integer default 200)
returns table (
  fingerprint text, kind text, crash_count integer, quarantined_at_ms bigint, jobs bigint, reason text,
    sample_payload bytea
)
language plpgsql
stable
security invoker
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  -- Asked with the caller's rights: who may not read payloads gets none here either.
  v_may boolean := has_function_privilege(
    quote_ident(:SCHEMA_LITERAL) || '.quarantine_sample(text)', 'execute');
begin
  return query
    select q.fingerprint, q.kind, q.crash_count, q.quarantined_at_ms, q.jobs, q.reason,
      case when v_may then :SCHEMA.quarantine_sample(q.fingerprint) end
    from :SCHEMA.quarantine_bare(quarantine_list.before_ms, quarantine_list.max_rows) q
    order by q.quarantined_at_ms desc, q.fingerprint;
end;
$$;
comment on function :SCHEMA.quarantine_list is
  'Contents that are quarantined, newest first, with how many workers they took down, the jobs parked (at '
  'most 1000 counted) and, for who may read payloads, one to look at. Page on with before_ms. Errors: HR007.';
revoke all on function :SCHEMA.quarantine_list from public;
