create or replace function :SCHEMA.find_jobs(
  filter jsonb, states text[], before_key bigint, most integer, examined integer default 5000
)
returns :SCHEMA.found_jobs
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_variable
declare
  v_near :SCHEMA.found_jobs;
  v_found :SCHEMA.found_jobs;
begin
  if filter ? 'state' then
    states := array[filter ->> 'state'];
  end if;
  v_near := :SCHEMA.gather_jobs(filter, states, before_key, most, examined);
  v_near.keys := array(
    select k from unnest(v_near.keys) k where k >= coalesce(v_near.before_key, 0) order by k desc);
  -- A lateral is visited in the order of the array, so the first ones found are the newest.
  v_found.keys := array(
    select j.key
    from unnest(v_near.keys) k(key)
    cross join lateral (select o.* from :SCHEMA.job o where o.key = k.key offset 0) j
    where (states is null or j.state::text = any (states))
      and (not filter ? 'queue' or j.queue = filter ->> 'queue')
      and (not filter ? 'kind' or j.kind = filter ->> 'kind')
      and (not filter ? 'kind_prefix' or starts_with(j.kind, filter ->> 'kind_prefix'))
      and (not filter ? 'partition_key' or j.partition_key = filter ->> 'partition_key')
      and (not filter ? 'priority' or j.priority = (filter ->> 'priority')::integer)
      and (not filter ? 'rate_class' or filter ->> 'rate_class' = any (j.rate_classes))
      and (not filter ? 'tags_all' or j.tags @> array(select jsonb_array_elements_text(filter -> 'tags_all')))
      and (not filter ? 'tags_any' or j.tags && array(select jsonb_array_elements_text(filter -> 'tags_any')))
      and (not filter ? 'fingerprint'
        or coalesce(j.fingerprint, :SCHEMA.fingerprint(j.kind, j.payload)) = filter ->> 'fingerprint')
    limit most);
  v_found.before_key := case
    when cardinality(v_found.keys) = most then v_found.keys[most]
    else v_near.before_key
  end;
  return v_found;
end;
$$;
comment on function :SCHEMA.find_jobs is
  'The newest jobs before a key that match a filter and are in one of these states (null: any), at most so '
  'many. before_key says where to go on; null: there are no more. It may be set although fewer were found: '
  'no call looks at more than a bounded number of jobs.';
revoke all on function :SCHEMA.find_jobs from public;
