create or replace function :SCHEMA.shelves_of(states text[])
returns smallint[]
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select array_agg(s.shelf::smallint order by s.shelf)
  from unnest('{pending,scheduled,retryable,completed,archived,cancelled,quarantined,undecodable}'::text[])
    with ordinality s(state, shelf)
  where shelves_of.states is null or s.state = any (shelves_of.states);
$$;
comment on function :SCHEMA.shelves_of is
  'The values of job.shelf for these states, null for all of them; available and running stand on none.';
revoke all on function :SCHEMA.shelves_of from public;
