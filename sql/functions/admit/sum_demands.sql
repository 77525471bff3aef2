create or replace function :SCHEMA.sum_demands(candidates :SCHEMA.candidate[])
returns :SCHEMA.demand[]
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select cast(
      row(c.queue, c.partition_key, c.rate_classes, count(*), sum(c.weight),
        min(c.deadline_ms)) as :SCHEMA.demand)
    from unnest(candidates) c
    group by c.queue, c.partition_key, c.rate_classes);
end;
$$;
comment on function :SCHEMA.sum_demands is
  'What drawn jobs ask of the policies, summed by partition and rate classes: where the sums fit, no job '
  'need be looked at by itself.';
revoke all on function :SCHEMA.sum_demands from public;
