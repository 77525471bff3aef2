create or replace function :SCHEMA.raise_unreadable_job(jobs json, problem text)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  c_bigints text[] := array['scheduled_at_ms', 'delay_ms', 'timeout_ms', 'deadline_ms', 'retention_ms',
    'unique_window_ms', 'unique_debounce_ms', 'periodic_tick_ms'];
  c_integers text[] := array['schema_version', 'weight', 'priority', 'max_attempts'];
  v_job json;
  v_ord integer := 0;
  v_field text;
  v_value text;
begin
  for v_job in select e from json_array_elements(jobs) e loop
    v_ord := v_ord + 1;
    if json_typeof(v_job) <> 'object' then
      perform :SCHEMA.raise_invalid('jobs', 'job ' || v_ord || ' is not an object', 'a list of objects');
    end if;
    perform :SCHEMA.raise_unreadable('jobs', v_job, c_integers, c_bigints, '{}', ' (job ' || v_ord || ')');
    v_value := (v_job -> 'pending')::text;
    if v_value not in ('null', 'true', 'false') then
      perform :SCHEMA.raise_invalid('pending', 'is not a boolean: ' || left(v_value, 40) || ' (job ' || v_ord
        || ')', 'true, false');
    end if;
    foreach v_field in array array['payload_base64', 'unique_key_base64'] loop
      v_value := trim(both '"' from (v_job -> v_field)::text);
      if v_value <> 'null' and (v_value !~ '^[A-Za-z0-9+/\s]*={0,2}$' or length(v_value) % 4 <> 0) then
        perform :SCHEMA.raise_invalid(v_field, 'is not base64 (job ' || v_ord || ')', 'base64');
      end if;
    end loop;
  end loop;
  perform :SCHEMA.raise_invalid('jobs', problem, 'see enqueue_many');
end;
$$;
comment on function :SCHEMA.raise_unreadable_job is
  'Raises HR007 for the first value in the JSON of enqueue_many that has a wrong type; the slow second look '
  'after a failure.';
revoke all on function :SCHEMA.raise_unreadable_job from public;
