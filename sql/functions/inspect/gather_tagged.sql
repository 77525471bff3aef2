create or replace function :SCHEMA.gather_tagged(filter jsonb, most integer)
returns bigint[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_indexscan = off
set enable_bitmapscan = on
set jit = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_variable
begin
  return array(
    select j.key from :SCHEMA.job j
    where (not filter ? 'tags_all' or j.tags @> array(select jsonb_array_elements_text(filter -> 'tags_all')))
      and (not filter ? 'tags_any' or j.tags && array(select jsonb_array_elements_text(filter -> 'tags_any')))
      and j.tags is not null
    limit most);
end;
$$;
comment on function :SCHEMA.gather_tagged is
  'Up to so many jobs that have the tags of a filter, in no order, by the index of tags whatever the '
  'statistics say.';
revoke all on function :SCHEMA.gather_tagged from public;
