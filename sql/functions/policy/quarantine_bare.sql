create or replace function :SCHEMA.quarantine_bare(before_ms bigint, max_rows integer)
returns table (
  fingerprint text, kind text, crash_count integer, quarantined_at_ms bigint, jobs bigint, reason text
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
      q.reason
    from :SCHEMA.quarantine q
    where quarantine_bare.before_ms is null or q.quarantined_at_ms < quarantine_bare.before_ms
    -- Where a page ends the next one begins: what was quarantined at one instant stands in one page.
    order by q.quarantined_at_ms desc
    fetch first (quarantine_bare.max_rows) rows with ties;
end;
$$;
comment on function :SCHEMA.quarantine_bare is
  'What quarantine_list shows of each content, without the payload. Errors: HR007.';
revoke all on function :SCHEMA.quarantine_bare from public;
