create or replace function :SCHEMA.check_admission(
  worker text, queues text[], capacity integer, lease_ms bigint, quantum integer, lease_id text,
  job_id text
)
returns text[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  v_queue text;
begin
  -- What a limit is judged by must be what is true once its lock is held, not when the transaction began.
  if current_setting('transaction_isolation') <> 'read committed' then
    perform :SCHEMA.raise_invalid('transaction_isolation', 'is ' || current_setting('transaction_isolation'),
      'read committed');
  end if;
  -- A usual call, far within all bounds, needs no check: a call of each costs more than this condition.
  if (octet_length(worker) between 1 and 100 and capacity between 1 and 1000 and lease_ms between 1000
    and 86400000
    and quantum is null and lease_id is null and job_id is null) is not true
  then
    perform :SCHEMA.check_text('worker', worker, 255),
      :SCHEMA.check_range('capacity', capacity, 0, 10000),
      :SCHEMA.check_duration('lease_ms', lease_ms),
      case when quantum is not null then :SCHEMA.check_range('quantum', quantum, 1, 10000) end,
      case when lease_id is not null then :SCHEMA.check_text('lease_id', lease_id, 255) end,
      case when job_id is not null then :SCHEMA.check_text('job_id', job_id, 255) end;
  end if;
  if queues is null or cardinality(queues) > 1000 then
    perform :SCHEMA.raise_invalid('queues', 'has a wrong number of names', '0..1000');
  end if;
  foreach v_queue in array queues loop
    if octet_length(v_queue) > 255 then
      perform :SCHEMA.check_text('queues', v_queue, 255);
    end if;
  end loop;
  if cardinality(queues) = 1 then
    return array[coalesce(nullif(queues[array_lower(queues, 1)], ''), 'default')];
  end if;
  return array(select distinct coalesce(nullif(q, ''), 'default') from unnest(queues) q order by 1);
end;
$$;
comment on function :SCHEMA.check_admission is
  'Raises HR007 for arguments of admit outside their limits; returns the queues sorted, each once, the empty '
  'name as default.';
revoke all on function :SCHEMA.check_admission from public;
