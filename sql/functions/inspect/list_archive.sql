create or replace function :SCHEMA.list_archive(
  queue text default null, month text default null, cursor text default null, max_rows integer default 50
)
returns table (
  id text, kind text, queue_name text, partition_key text, state text, fingerprint text, attempt integer,
  crash_attempt integer, enqueued_at_ms bigint, finalized_at_ms bigint, evicted_at_ms bigint,
    expires_at_ms bigint,
  tags text[], attempts jsonb, payload_bytes integer, next_cursor text
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_digits text := replace(list_archive.month, '-', '');
  v_from bigint := 0;
  v_to bigint := 9223372036854775807;
  v_key bigint := 9223372036854775807;
begin
  perform :SCHEMA.check_max_rows(max_rows, 200);
  if list_archive.month is not null then
    if list_archive.month !~ '^\d{4}-?(0[1-9]|1[0-2])$' then
      perform :SCHEMA.raise_invalid('month', 'is no month: ' || left(list_archive.month, 40),
        'YYYY-MM or YYYYMM');
    end if;
    v_from := (extract(epoch from to_date(v_digits || '01', 'YYYYMMDD')::timestamp) * 1000)::bigint;
    v_to := (extract(epoch from to_date(v_digits || '01',
      'YYYYMMDD')::timestamp + interval '1 month') * 1000)::bigint;
  end if;
  if list_archive.cursor is not null then
    if list_archive.cursor !~ '^\d{1,18}\.\d{1,18}$' then
      perform :SCHEMA.raise_invalid('cursor', 'is not one of list_archive',
        'the next_cursor of the last row seen');
    end if;
    v_to := least(v_to, split_part(list_archive.cursor, '.', 1)::bigint + 1);
    v_key := split_part(list_archive.cursor, '.', 2)::bigint;
  end if;
  return query
    select a.job_id, a.kind, a.queue, a.partition_key, a.state::text, a.fingerprint, a.attempt,
      a.crash_attempt, a.enqueued_at_ms, a.finalized_at_ms, a.evicted_at_ms, a.expires_at_ms, a.tags,
        a.attempts,
      octet_length(a.payload), a.evicted_at_ms || '.' || a.key
    from :SCHEMA.job_archive a
    where a.evicted_at_ms >= v_from and a.evicted_at_ms < v_to
      and (a.evicted_at_ms, a.key) < (v_to - 1, v_key)
      and (list_archive.queue is null or a.queue = coalesce(nullif(list_archive.queue, ''), 'default'))
    order by a.evicted_at_ms desc, a.key desc
    limit max_rows;
end;
$$;
comment on function :SCHEMA.list_archive is
  'Jobs in the archive, the last evicted first, 1..200 a page, of one queue or all, of one month (YYYY-MM or '
  'YYYYMM, UTC) or all; no payloads (get_archived_job). Page on with next_cursor of the last row. Errors: '
  'HR007.';
revoke all on function :SCHEMA.list_archive from public;
