create or replace function :SCHEMA.list_jobs(filter jsonb default '{}', cursor text default null, max_rows integer default 50)
returns setof :SCHEMA.job_summary
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
  c_examined integer := 20000;
  v_before bigint;
  v_unknown text;
begin
  perform :SCHEMA.check_max_rows(max_rows, 200);
  if cursor is not null and cursor !~ '^\d{1,18}$' then
    perform :SCHEMA.raise_invalid('cursor', 'is not one of list_jobs', 'the cursor of the last row seen');
  end if;
  v_before := coalesce(cursor::bigint, 9223372036854775807);
  select k into v_unknown from jsonb_object_keys(filter) k
  where k not in ('queue', 'state', 'kind', 'kind_prefix', 'partition_key', 'id', 'fingerprint', 'rate_class', 'priority',
    'tags_all', 'tags_any')
  limit 1;
  if found then
    perform :SCHEMA.raise_invalid('filter', 'has an unknown field: ' || v_unknown, 'queue, state, kind, kind_prefix, '
      'partition_key, id, fingerprint, rate_class, priority, tags_all, tags_any');
  end if;
  return query
    with examined as materialized (
      select j.* from :SCHEMA.job j where j.key < v_before order by j.key desc limit c_examined
    )
    select s.*
    from (
      select e.* from examined e
      where (not filter ? 'queue' or e.queue = filter ->> 'queue')
        and (not filter ? 'state' or e.state::text = filter ->> 'state')
        and (not filter ? 'kind' or e.kind = filter ->> 'kind')
        and (not filter ? 'kind_prefix' or starts_with(e.kind, filter ->> 'kind_prefix'))
        and (not filter ? 'partition_key' or e.partition_key = filter ->> 'partition_key')
        and (not filter ? 'id' or :SCHEMA.job_id(e.key, e.id) = filter ->> 'id')
        and (not filter ? 'priority' or e.priority = (filter ->> 'priority')::integer)
        and (not filter ? 'rate_class' or filter ->> 'rate_class' = any (e.rate_classes))
        and (not filter ? 'tags_all' or e.tags @> array(select jsonb_array_elements_text(filter -> 'tags_all')))
        and (not filter ? 'tags_any' or e.tags && array(select jsonb_array_elements_text(filter -> 'tags_any')))
        and (not filter ? 'fingerprint'
          or coalesce(e.fingerprint, :SCHEMA.fingerprint(e.kind, e.payload)) = filter ->> 'fingerprint')
      order by e.key desc
      limit max_rows) e
    join :SCHEMA.job j on j.key = e.key
    cross join lateral :SCHEMA.summarize(j, false) s
    order by j.key desc;
end;
$$;
comment on function :SCHEMA.list_jobs is
  'Jobs that match every field of the filter, newest first, 1..200 a page; never payloads. Page on with the cursor of the '
  'last row. Errors: HR007.';
revoke all on function :SCHEMA.list_jobs from public;
