create or replace function :SCHEMA.place_simple_jobs(list json)
returns bigint[]
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_read record := :SCHEMA.read_simple_jobs(list);
  v_jobs :SCHEMA.simple_job[] := v_read.jobs;
  v_at_ms bigint;
  v_counted text[];
  v_keys bigint[];
  v_lanes :SCHEMA.lane_entry[];
begin
  if v_jobs is null
    or (exists (select from :SCHEMA.queue q where q.max_unfinished_jobs is not null) and exists (
      select from unnest(v_jobs) j
      join :SCHEMA.queue q on q.queue = j.queue and q.max_unfinished_jobs is not null))
    or (exists (select from :SCHEMA.quarantine) and exists (
      select from unnest(v_jobs) j
      join :SCHEMA.quarantine q on q.fingerprint = :SCHEMA.fingerprint(j.kind, j.payload)))
  then
    return null;
  end if;
  v_counted := :SCHEMA.counted_kinds(v_read.kinds);
  v_at_ms := :SCHEMA.now_ms();
  with placed as (
    insert into :SCHEMA.job (
      state, enqueued_at_ms, scheduled_at_ms, kind, payload, queue, partition_key, priority, max_attempts,
      schema_version, rate_classes, class_key, timeout_ms, retention_ms, headers, counted)
    select case when j.delay_ms > 0 then :SCHEMA.job_state 'scheduled' else 'available' end, v_at_ms,
      v_at_ms + j.delay_ms, j.kind, j.payload, j.queue, j.partition_key, j.priority, j.max_attempts,
      j.schema_version, case when j.rate_class is not null then array[j.rate_class] end,
      case when j.rate_class is null then '' else :SCHEMA.class_key(array[j.rate_class]) end,
      j.timeout_ms, j.retention_ms, j.headers, nullif(j.kind = any (v_counted), false)
    from unnest(v_jobs) j
    returning key, queue, partition_key, class_key, priority, stage
  ), lines as (
    select p.queue, p.partition_key, p.class_key, p.priority, p.stage, count(*) as jobs, min(p.key) as key
    from placed p
    group by p.queue, p.partition_key, p.class_key, p.priority, p.stage
  ), counted as (
    insert into :SCHEMA.tally (queue, at_ms, arrived, depth)
    select l.queue, v_at_ms, sum(l.jobs), sum(l.jobs) from lines l group by l.queue
  )
  select (select array_agg(p.key order by p.key) from placed p),
    (select array_agg(cast(row(l.queue, l.partition_key, '', l.class_key, l.priority, v_at_ms, l.key)
      as :SCHEMA.lane_entry)) from lines l where l.stage = 1)
  into v_keys, v_lanes;
  perform :SCHEMA.open_lanes(v_lanes);
  return v_keys;
end;
$$;
comment on function :SCHEMA.place_simple_jobs is
  'The short way of a list of jobs that have only simple_fields: inserts them and returns their keys in '
  'order. Null, with nothing written, where one is not so simple, at fault, or perhaps refused: enqueue_many '
  'finds out.';
revoke all on function :SCHEMA.place_simple_jobs from public;
