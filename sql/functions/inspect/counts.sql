create or replace function :SCHEMA.counts(queue text default null)
returns table (state text, jobs bigint, approximate boolean)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    with seen as (
      select j.state
      from :SCHEMA.job j
      where counts.queue is null or j.queue = counts.queue
      limit 50001
    )
    select e.state::text, count(s.state), (select count(*) from seen) > 50000
    from unnest(enum_range(cast(null as :SCHEMA.job_state))) e(state)
    left join seen s on s.state = e.state
    group by e.state
    order by e.state;
end;
$$;
comment on function :SCHEMA.counts is
  'Jobs per state, of one queue or of all: exact up to 50,000 jobs looked at, beyond that approximate says so.';
revoke all on function :SCHEMA.counts from public;
