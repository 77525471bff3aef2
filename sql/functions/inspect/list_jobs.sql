create or replace function :SCHEMA.list_jobs(filter jsonb default '{}', cursor text default null,
  max_rows integer default 50)
returns setof :SCHEMA.job_summary
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_found :SCHEMA.found_jobs;
  v_more :SCHEMA.job_summary;
begin
  perform :SCHEMA.check_max_rows(max_rows, 200);
  if list_jobs.cursor is not null and list_jobs.cursor !~ '^\d{1,18}$' then
    perform :SCHEMA.raise_invalid('cursor', 'is not one of list_jobs', 'the cursor of the last row seen');
  end if;
  perform :SCHEMA.check_filter('filter', list_jobs.filter);
  v_found := :SCHEMA.find_jobs(
    list_jobs.filter, null, coalesce(list_jobs.cursor::bigint, 9223372036854775807), max_rows);
  return query
    select s.*
    from unnest(v_found.keys) k(key)
    join :SCHEMA.job j on j.key = k.key
    cross join lateral :SCHEMA.summarize(j, false) s
    order by j.key desc;
  if cardinality(v_found.keys) < max_rows and v_found.before_key is not null then
    v_more.cursor := v_found.before_key::text;
    return next v_more;
  end if;
end;
$$;
comment on function :SCHEMA.list_jobs is
  'Jobs that match every field of the filter, newest first, 1..200 a page; never payloads. Page on with the '
  'cursor of the last row. Fields: id, queue, state, kind, kind_prefix, partition_key, fingerprint, '
  'rate_class, priority, tags_all, tags_any. A call looks at a bounded number of jobs, so that no filter is '
  'dear: where it had to stop before the page was full, the last row is empty but for the cursor from which '
  'to go on. Without such a row, a page that is not full is the last. Errors: HR007.';
revoke all on function :SCHEMA.list_jobs from public;
