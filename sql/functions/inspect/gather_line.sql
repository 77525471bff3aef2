create or replace function :SCHEMA.gather_line(queue text, before_key bigint, most integer)
returns bigint[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_variable
declare
  v_keys bigint[];
begin
  if queue is null then
    v_keys := array(select j.key from :SCHEMA.job j where j.stage = 1 limit most + 1);
  else
    v_keys := array(
      select j.key from :SCHEMA.job j where j.stage = 1 and j.queue = gather_line.queue limit most + 1);
  end if;
  if cardinality(v_keys) > most then
    return null;
  end if;
  return array(select k from unnest(v_keys) k where k < before_key);
end;
$$;
comment on function :SCHEMA.gather_line is
  'All jobs in line or running, of one queue or (null) of all; null where there are more than so many.';
revoke all on function :SCHEMA.gather_line from public;
