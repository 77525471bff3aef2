create or replace function :SCHEMA.counted_kinds(kinds text[])
returns text[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Most installs have no tasks.
  if not exists (select from :SCHEMA.task_config) and not exists (select from :SCHEMA.task_limit) then
    return '{}';
  end if;
  return array(
    select distinct k from unnest(kinds) k
    where exists (select from :SCHEMA.task_config c where c.task_name = k)
      or exists (select from :SCHEMA.task_limit l where l.task_name = k));
end;
$$;
comment on function :SCHEMA.counted_kinds is
  'Those kinds that are tasks with policies: their jobs are counted, whichever surface enqueues them.';
revoke all on function :SCHEMA.counted_kinds from public;
