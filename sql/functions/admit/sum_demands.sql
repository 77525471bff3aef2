create or replace function :SCHEMA.sum_demands(candidates :SCHEMA.candidate[])
returns :SCHEMA.demand[]
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- The jobs of a line have the same classes, so its first job speaks for all.
  return array(
    select cast(row(s.lane, (f.job).queue, (f.job).partition_key, (f.job).rate_classes, s.jobs, s.weight,
      s.keys) as :SCHEMA.demand)
    from (
      select c.lane, min(c.ordinality)::integer as first, count(*) as jobs, sum(c.weight) as weight,
        array_agg(c.key) as keys
      from unnest(candidates) with ordinality c
      group by c.lane) s
    cross join lateral (select candidates[s.first] as job offset 0) f);
end;
$$;
comment on function :SCHEMA.sum_demands is
  'What drawn jobs ask of the policies, summed by line: where the sums fit, no job need be looked at by '
  'itself.';
revoke all on function :SCHEMA.sum_demands from public;
