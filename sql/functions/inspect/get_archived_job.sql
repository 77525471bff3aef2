create or replace function :SCHEMA.get_archived_job(id text, max_rows integer default 10)
returns table (
  job_id text, kind text, queue text, state text, schema_version integer, payload bytea, headers jsonb,
    attempts jsonb,
  finalized_at_ms bigint, evicted_at_ms bigint
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('id', get_archived_job.id, 255);
  perform :SCHEMA.check_max_rows(max_rows, 200);
  return query
    select a.job_id, a.kind, a.queue, a.state::text, a.schema_version, a.payload, a.headers, a.attempts,
      a.finalized_at_ms, a.evicted_at_ms
    from :SCHEMA.job_archive a
    where a.job_id = get_archived_job.id
    order by a.evicted_at_ms desc
    limit max_rows;
end;
$$;
comment on function :SCHEMA.get_archived_job is
  'The jobs in the archive that had this id, the last evicted first, with their payloads. Errors: HR007.';
revoke all on function :SCHEMA.get_archived_job from public;
