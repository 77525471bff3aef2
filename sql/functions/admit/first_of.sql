create or replace function :SCHEMA.first_of(jobs :SCHEMA.batch, most integer)
returns :SCHEMA.batch
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if cardinality(jobs.keys) > most then
    jobs.places := jobs.places[:most];
    jobs.keys := jobs.keys[:most];
    jobs.lane_of := jobs.lane_of[:most];
    jobs.weights := jobs.weights[:most];
    jobs.times := jobs.times[:most];
  end if;
  return jobs;
end;
$$;
comment on function :SCHEMA.first_of is 'The jobs, or the first of them if they are more than most.';
revoke all on function :SCHEMA.first_of from public;
