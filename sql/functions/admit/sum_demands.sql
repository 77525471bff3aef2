create or replace function :SCHEMA.sum_demands(jobs :SCHEMA.batch, lanes :SCHEMA.lane_start[])
returns :SCHEMA.demand[]
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select cast(row(s.lane, (f.line).queue, (f.line).partition_key, (f.line).rate_classes, s.jobs, s.weight,
      s.keys) as :SCHEMA.demand)
    from (
      select j.lane, count(*) as jobs, sum(j.weight) as weight, array_agg(j.key) as keys
      from (select unnest(jobs.lane_of) as lane, unnest(jobs.keys) as key, unnest(jobs.weights) as weight) j
      group by j.lane) s
    cross join lateral (select lanes[s.lane] as line offset 0) f);
end;
$$;
comment on function :SCHEMA.sum_demands is
  'What drawn jobs ask of the policies, summed by line: where the sums fit, no job need be looked at by '
  'itself.';
revoke all on function :SCHEMA.sum_demands from public;
