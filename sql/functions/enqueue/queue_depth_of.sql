create or replace function :SCHEMA.queue_depth_of(queue text)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return (
    select coalesce((select d.depth from :SCHEMA.queue_depth d where d.queue = queue_depth_of.queue), 0)
      + coalesce((select sum(t.depth) from :SCHEMA.tally t where t.queue = queue_depth_of.queue), 0));
end;
$$;
comment on function :SCHEMA.queue_depth_of is
  'The exact number of unfinished jobs of a queue: the last roll-up and what came since.';
revoke all on function :SCHEMA.queue_depth_of from public;
