create or replace function :SCHEMA.cold_queues(most integer)
returns text[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_names text[] := '{}';
  v_name text;
begin
  -- From one name to the next by index: the jobs in between are not touched.
  select j.queue into v_name from :SCHEMA.job j where j.stage <> 1 order by j.queue limit 1;
  while v_name is not null and cardinality(v_names) < most loop
    v_names := v_names || v_name;
    select (select j.queue from :SCHEMA.job j where j.stage <> 1
      and j.queue > v_name order by j.queue limit 1)
    into v_name;
  end loop;
  return v_names;
end;
$$;
comment on function :SCHEMA.cold_queues is
  'The names of queues with waiting or finished jobs, in order, at most so many.';
revoke all on function :SCHEMA.cold_queues from public;
