create or replace function :SCHEMA.check_acks(acks :SCHEMA.ack_input[], places bigint[] default null)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_bad record;
begin
  -- Successes with nothing beside them are what most batches consist of.
  if (
    select bool_and((a.outcome = 'success' and num_nonnulls(a.id, a.lease_id, a.fence) = 3
      and num_nulls(a.delay_ms, a.actual_weight, a.result_schema_version, a.result) = 4) is true)
    from unnest(acks) a) then
    return;
  end if;
  select f.ord, f.fault into v_bad
  from (
    select a.ord, case
      when a.id is null then 'job_id|must be given|text'
      when a.lease_id is null then 'lease_id|must be given|text'
      when a.fence is null then 'fence|must be given|a whole number'
      when a.outcome is null or a.outcome not in ('success', 'retry', 'skip', 'revoke', 'snooze',
        'rate_limited',
          'undecodable', 'checkpoint_stale') then
        'outcome|is unknown: ' || coalesce(translate(left(a.outcome, 40), '|', '/'), 'null')
        || '|success, retry, skip, revoke, snooze, rate_limited, undecodable, checkpoint_stale'
      when a.delay_ms not between 0 and 315576000000000 then 'delay_ms|is out of bounds|0..10000 years'
      when a.outcome = 'snooze' and coalesce(a.delay_ms, 0) < 1
        then 'delay_ms|is needed for a snooze|at least 1'
      when a.actual_weight < 0 then 'actual_weight|is out of bounds|0..2147483647'
      when a.result_schema_version < 1 then 'result_schema_version|is out of bounds|at least 1'
      when a.result is not null and a.outcome <> 'success' then 'result|goes with success only|success'
      when octet_length(a.result) > 33554432 then 'result|is too long|at most 33554432 bytes'
    end as fault
    from unnest(acks) a
  ) f
  where f.fault is not null
  order by f.ord
  limit 1;
  if found then
    perform :SCHEMA.raise_invalid(split_part(v_bad.fault, '|', 1),
      split_part(v_bad.fault, '|', 2) || case when cardinality(acks) > 1 or places is not null
        then ' (ack ' || coalesce(places[v_bad.ord], v_bad.ord) || ')' else '' end,
      split_part(v_bad.fault, '|', 3));
  end if;
end;
$$;
comment on function :SCHEMA.check_acks is
  'HR007 for the first value of acks that is missing, unknown or out of bounds; it names the ack by its '
  'place in the list, or by its number in places.';
revoke all on function :SCHEMA.check_acks from public;
