create or replace function :SCHEMA.ack_batch(
  job_ids text[], lease_ids text[], fences bigint[], others json default '[]',
    places bigint[] default null
)
returns table (ord integer, state text, rejected boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_acks :SCHEMA.ack_input[] := '{}';
  v_others integer := 0;
  v_ended integer[];
  v_settled :SCHEMA.settled_job[];
begin
  if cardinality(job_ids) is distinct from cardinality(lease_ids)
    or cardinality(job_ids) is distinct from cardinality(fences)
    or cardinality(job_ids) > 10000
    or array_position(job_ids, null) is not null or array_position(lease_ids, null) is not null
    or array_position(fences, null) is not null then
    perform :SCHEMA.raise_invalid('job_ids', 'must be as many as lease_ids and fences, and none null',
      '0..10000 of each');
  end if;
  if others::text <> '[]' then
    v_acks := :SCHEMA.read_acks(others, places);
    v_others := cardinality(v_acks);
  end if;
  v_ended := :SCHEMA.settle_plain(job_ids, lease_ids, fences);
  if cardinality(v_ended) < cardinality(job_ids) then
    v_acks := v_acks || array(
      select cast(row(v_others + a.ord, a.id,
        coalesce(:SCHEMA.generated_key(a.id), (select j.key from :SCHEMA.job j where j.id = a.id)),
        a.lease_id, a.fence, 'success', null, null, null, null, null, null) as :SCHEMA.ack_input)
      from unnest(job_ids, lease_ids, fences) with ordinality a(id, lease_id, fence, ord)
      where a.ord not in (select e.ord from unnest(v_ended) e(ord)));
  end if;
  if v_acks = '{}' then
    return;
  end if;
  v_settled := :SCHEMA.settle(v_acks);
  return query
    select a.ord, s.state, s.ord is null
    from unnest(v_acks) a
    left join unnest(v_settled) s on s.ord = a.ord
    order by a.ord;
end;
$$;
comment on function :SCHEMA.ack_batch is
  'What ack_many does, for drivers: others is a list of its acks, and the three lists, of equal length, are '
  'successes with nothing beside them. Returns a row, in order, for each of others (ord from 1) and, counted '
  'on, for each success whose job is not gone: one without a row is deleted. places: the numbers by which an '
  'error names others, those of a longer list that both come from. Errors: HR007.';
revoke all on function :SCHEMA.ack_batch from public;
