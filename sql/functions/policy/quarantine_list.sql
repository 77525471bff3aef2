create or replace function :SCHEMA.quarantine_list(before_ms bigint default null, max_rows integer default 200)
returns table (
  fingerprint text, kind text, crash_count integer, quarantined_at_ms bigint, jobs bigint, reason text, sample_payload bytea
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_max_rows(max_rows, 200);
  return query
    select q.fingerprint, q.kind, q.crash_count, q.quarantined_at_ms,
      (select count(*) from (
        select from :SCHEMA.job j where j.quarantined_as = q.fingerprint limit 1000) n),
      q.reason, q.sample_payload
    from :SCHEMA.quarantine q
    where quarantine_list.before_ms is null or q.quarantined_at_ms < quarantine_list.before_ms
    order by q.quarantined_at_ms desc, q.fingerprint
    limit max_rows;
end;
$$;
comment on function :SCHEMA.quarantine_list is
  'Contents that are quarantined, newest first, with how many workers they took down, the jobs parked (at most 1000 counted) '
  'and one payload to look at. Page on with before_ms. Errors: HR007.';
revoke all on function :SCHEMA.quarantine_list from public;
