create or replace function :SCHEMA.concurrency_limits()
returns table (name text, queue text, max_concurrent integer, on_saturated text, running bigint)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
    select m.name, m.queue, m.max_concurrent, m.on_saturated,
      (select count(*) from :SCHEMA.held_place h where h.queue = m.queue)
    from :SCHEMA.concurrency_limit m
    order by m.name
    limit 10000;
end;
$$;
comment on function :SCHEMA.concurrency_limits is
  'The ceilings, at most 10,000, with how many jobs of the queue run now in all its partitions.';
revoke all on function :SCHEMA.concurrency_limits from public;
