create or replace function :SCHEMA.place_named(job :SCHEMA.job_input, at_ms bigint)
returns :SCHEMA.placed_job
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_fingerprint text := coalesce(job.fingerprint, :SCHEMA.fingerprint(job.kind, job.payload));
  v_start_ms bigint := coalesce(job.scheduled_at_ms,
    at_ms + coalesce(job.delay_ms, job.unique_debounce_ms, 0));
  v_state :SCHEMA.job_state :=
    case when job.pending then 'pending' when v_start_ms > at_ms then 'scheduled' else 'available' end;
  v_counted boolean := (job.face).backoff_base_ms is not null
    or job.kind = any (:SCHEMA.counted_kinds(array[job.kind]));
  v_placed :SCHEMA.placed_job;
  v_holder :SCHEMA.job;
  v_throttle :SCHEMA.throttle;
begin
  v_placed.ord := job.ord;
  v_placed.replaced := false;
  loop
    if job.id is not null then
      select * into v_holder from :SCHEMA.job j where j.key = :SCHEMA.job_key(job.id);
      if found then
        v_placed.key := v_holder.key;
        v_placed.id := job.id;
        v_placed.existing_id := job.id;
        v_placed.disposition := case
          when v_holder.kind = job.kind and v_holder.queue = job.queue
            and coalesce(v_holder.fingerprint, :SCHEMA.fingerprint(v_holder.kind,
              v_holder.payload)) = v_fingerprint
            then 'replayed'
          else 'id_conflict'
        end;
        v_placed.detail := jsonb_build_object('job_id', job.id);
        return v_placed;
      elsif :SCHEMA.generated_key(job.id) is not null then
        perform :SCHEMA.raise_invalid('id', 'has the form of a generated id: ' || job.id, 'any other text');
      end if;
    end if;
    if exists (select from :SCHEMA.quarantine q where q.fingerprint = v_fingerprint) then
      v_placed.disposition := 'quarantined';
      v_placed.detail := jsonb_build_object('fingerprint', v_fingerprint);
      return v_placed;
    end if;
    if job.unique_window_ms is not null then
      select * into v_throttle from :SCHEMA.throttle t where t.unique_key = job.unique_key
        and t.expires_at_ms > at_ms;
      if found then
        v_placed.disposition := 'duplicate';
        v_placed.existing_id := v_throttle.job_id;
        return v_placed;
      end if;
    end if;

    insert into :SCHEMA.job (
      state, max_attempts, priority, weight, schema_version, enqueued_at_ms, scheduled_at_ms, queue,
        partition_key, kind,
      payload, id, fingerprint, rate_classes, unique_key, timeout_ms, deadline_ms, retention_ms, headers,
        tags,
      sticky_worker, class_key, periodic_schedule_id, periodic_tick_ms, actor_json, signature_hash,
        backoff_base_ms,
      backoff_multiplier, backoff_max_ms, counted)
    values (
      v_state, job.max_attempts, job.priority, job.weight, job.schema_version, at_ms, v_start_ms, job.queue,
      job.partition_key, job.kind, job.payload, job.id, job.fingerprint, job.rate_classes,
      case when job.unique_window_ms is null then job.unique_key end, job.timeout_ms, job.deadline_ms,
        job.retention_ms,
      job.headers, job.tags, job.sticky_worker, :SCHEMA.class_key(job.rate_classes), job.periodic_schedule_id,
        job.periodic_tick_ms,
      (job.face).actor_json, (job.face).signature_hash, (job.face).backoff_base_ms,
        (job.face).backoff_multiplier,
      (job.face).backoff_max_ms, nullif(v_counted, false))
    on conflict do nothing
    returning key into v_placed.key;
    if v_placed.key is not null then
      v_placed.id := :SCHEMA.job_id(v_placed.key, job.id);
      if job.unique_window_ms is not null then
        insert into :SCHEMA.throttle as t (unique_key, job_key, job_id, expires_at_ms)
        values (job.unique_key, v_placed.key, v_placed.id, at_ms + job.unique_window_ms)
        on conflict (unique_key) do update
          set job_key = excluded.job_key, job_id = excluded.job_id, expires_at_ms = excluded.expires_at_ms
          where t.expires_at_ms <= at_ms;
        if not found then
          -- Somebody took the window while we looked: withdraw, and read whose it is.
          delete from :SCHEMA.job j where j.key = v_placed.key;
          v_placed.key := null;
          continue;
        end if;
      end if;
      v_placed.disposition := 'inserted';
      insert into :SCHEMA.tally (queue, at_ms, arrived, depth) values (job.queue, place_named.at_ms, 1, 1);
      if v_state = 'available' then
        perform :SCHEMA.open_lanes(array[cast(row(job.queue, job.partition_key, job.sticky_worker,
          :SCHEMA.class_key(job.rate_classes), job.priority, v_start_ms,
            v_placed.key) as :SCHEMA.lane_entry)]);
      end if;
      return v_placed;
    end if;

    -- Taken, by a job that has committed: ours waited for it. The holder of the id is met at the top of the
    -- loop; the holder of the key may finish before it is read here, and then the key is free again.
    if job.unique_replace is null and job.unique_debounce_ms is null then
      -- Nothing will change it, so it is not locked: its acknowledgement is not to wait for the producer's
      -- commit.
      select * into v_holder from :SCHEMA.job j where j.unique_key = job.unique_key and j.stage < 2;
    else
      select * into v_holder from :SCHEMA.job j where j.unique_key = job.unique_key
        and j.stage < 2 for update;
    end if;
    if found then
      v_placed.key := v_holder.key;
      v_placed.existing_id := :SCHEMA.job_id(v_holder.key, v_holder.id);
      v_placed.replaced := :SCHEMA.replace_job(v_holder, job, at_ms);
      v_placed.disposition := case when v_placed.replaced then 'replaced' else 'duplicate' end;
      return v_placed;
    end if;
  end loop;
end;
$$;
comment on function :SCHEMA.place_named is
  'Inserts one job, or says which job stands in the way of its id or unique key: replayed, id_conflict, '
  'quarantined, duplicate, or replaced where the producer asked to replace the holder of the key.';
revoke all on function :SCHEMA.place_named from public;
