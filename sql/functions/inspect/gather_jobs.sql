create or replace function :SCHEMA.gather_jobs(filter jsonb, states text[], before_key bigint, most integer,
  examined integer)
returns :SCHEMA.found_jobs
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_variable
declare
  v_found :SCHEMA.found_jobs;
  v_shelves smallint[] := coalesce(:SCHEMA.shelves_of(states), '{}');
  v_line bigint[] := '{}';
  v_queues text[];
begin
  if filter ? 'id' then
    v_found.keys := array(select k from :SCHEMA.job_key(filter ->> 'id') k where k < before_key);
    return v_found;
  end if;
  if filter ?| '{tags_all,tags_any}' then
    v_found.keys := :SCHEMA.gather_tagged(filter, examined + 1);
    if cardinality(v_found.keys) <= examined then
      v_found.keys := array(select k from unnest(v_found.keys) k where k < before_key);
      return v_found;
    end if;
  end if;
  if filter ? 'kind' and v_shelves <> '{}' and v_shelves <@ '{4,5,6,7,8}' and states <@
    '{completed,archived,cancelled,quarantined,undecodable}'
  then
    v_found.keys := array(
      select j.key from :SCHEMA.job j
      where j.kind = filter ->> 'kind' and j.stage = 2 and j.key < before_key
      order by j.key desc
      limit examined);
    if cardinality(v_found.keys) = examined then
      v_found.before_key := v_found.keys[examined];
    end if;
    return v_found;
  end if;
  if states = '{running}' and not exists (select from :SCHEMA.lease l offset 2000 limit 1) then
    v_found.keys := array(select k from :SCHEMA.lease l cross join lateral unnest(l.keys) k
      where k < before_key);
    if cardinality(v_found.keys) <= 4 * examined then
      return v_found;
    end if;
  end if;
  if filter ? 'queue' or states is not null then
    v_queues := case when filter ? 'queue' then array[filter ->> 'queue'] else :SCHEMA.cold_queues(21) end;
    if states is null or states && '{available,running}' then
      v_line := :SCHEMA.gather_line(filter ->> 'queue', before_key, examined);
    end if;
    if v_line is not null and cardinality(v_queues) <= 20 then
      v_found := :SCHEMA.gather_cold(v_queues, v_shelves, before_key,
        greatest(most + 1, examined / greatest(1, cardinality(v_queues) * cardinality(v_shelves))));
      v_found.keys := v_line || v_found.keys;
      return v_found;
    end if;
  end if;
  v_found.keys := array(select j.key from :SCHEMA.job j
    where j.key < before_key order by j.key desc limit examined);
  if cardinality(v_found.keys) = examined then
    v_found.before_key := v_found.keys[examined];
  end if;
  return v_found;
end;
$$;
comment on function :SCHEMA.gather_jobs is
  'The jobs among which those of a filter are, newest first, as far as one call looks: by the index that '
  'serves the filter best, or else the newest jobs of all. before_key: from there on downwards nothing was '
  'looked at; null: nothing is left.';
revoke all on function :SCHEMA.gather_jobs from public;
