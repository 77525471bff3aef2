create or replace function :SCHEMA.enqueue_many(jobs json, on_conflict text default 'error')
returns table (ord integer, id text, disposition text, existing_id text, replaced boolean, detail jsonb)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_key bigint;
  v_keys bigint[];
  v_jobs :SCHEMA.job_input[];
  v_limited boolean;
  v_placed :SCHEMA.placed_job[];
  v_refused boolean := false;
begin
  if on_conflict is null or on_conflict not in ('error', 'report') then
    perform :SCHEMA.raise_invalid('on_conflict', 'is unknown', 'error, report');
  end if;
  if json_typeof(jobs) = 'array' then
    if json_array_length(jobs) = 1 then
      v_key := :SCHEMA.place_simple_job(jobs);
      if v_key is not null then
        ord := 1;
        id := 'j' || lpad(to_hex(v_key), 16, '0');
        disposition := 'inserted';
        replaced := false;
        return next;
        return;
      end if;
    else
      v_keys := :SCHEMA.place_simple_jobs(jobs);
      if v_keys is not null then
        return query
          select k.ord::integer, 'j' || lpad(to_hex(k.key), 16, '0'), 'inserted', null::text, false,
            null::jsonb
          from unnest(v_keys) with ordinality k(key, ord);
        return;
      end if;
    end if;
  end if;
  v_jobs := :SCHEMA.read_jobs(jobs);
  perform :SCHEMA.check_jobs(v_jobs);
  v_limited := :SCHEMA.lock_enqueue_limits(v_jobs);

  if not v_limited and (cardinality(v_jobs) = 1 or on_conflict = 'error') then
    -- Nothing to undo: a single refused job has written nothing, and an error undoes itself.
    v_placed := :SCHEMA.place_jobs(v_jobs, v_limited);
    v_refused := :SCHEMA.has_refusal(v_placed);
  else
    begin
      v_placed := :SCHEMA.place_jobs(v_jobs, v_limited);
      v_refused := :SCHEMA.has_refusal(v_placed);
      if v_refused then
        perform :SCHEMA.raise_error('HR000', 'a refused batch is undone');
      end if;
    exception when sqlstate 'HR000' then
      null;
    end;
  end if;

  if v_refused and on_conflict = 'error' then
    perform :SCHEMA.raise_refusal(v_placed);
  end if;
  return query
    select p.ord,
      case when v_refused and p.disposition = 'inserted' then null else p.id end,
      case when v_refused and p.disposition = 'inserted' then 'withheld' else p.disposition end,
      p.existing_id, p.replaced, p.detail
    from unnest(v_placed) p
    order by p.ord;
end;
$$;
comment on function :SCHEMA.enqueue_many is
  'Enqueues a JSON list of jobs, all or nothing, and returns a row a job: inserted, replayed (the same id '
  'with the same content: success), duplicate, or replaced. Keys of a job: kind, payload or payload_base64, '
  'id, queue, partition_key, rate_class or rate_classes, priority (higher first), weight, max_attempts, '
  'scheduled_at_ms or delay_ms, timeout_ms, deadline_ms, retention_ms, unique_key or unique_key_base64, '
  'unique_window_ms, unique_scope (kind, global), unique_replace, unique_debounce_ms, headers, tags, '
  'pending, sticky_worker, schema_version, fingerprint, periodic_schedule_id, periodic_tick_ms; instants and '
  'durations in ms. Errors: HR001 duplicate, HR002 id_conflict, HR003 quarantined, HR004 backpressure, HR007 '
  'invalid. With on_conflict => ''report'' the first four are no errors: nothing is written, and the rows '
  'say why; jobs that were refused only with their batch are withheld.';
revoke all on function :SCHEMA.enqueue_many from public;
