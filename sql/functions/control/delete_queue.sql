create or replace function :SCHEMA.delete_queue(queue text, force boolean default false)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_queue text := :SCHEMA.queue_name(delete_queue.queue);
  v_schedules text[];
  v_depth bigint;
  v_id text;
begin
  -- Before the queue is locked: who ticks a schedule has locked that first.
  if coalesce(delete_queue.force, false) then
    update :SCHEMA.schedule s set paused = true where s.queue = v_queue and not s.paused;
  else
    v_schedules := array(
      select s.id from :SCHEMA.schedule s where s.queue = v_queue and not s.paused order by s.id limit 4);
    if v_schedules <> '{}' then
      perform :SCHEMA.raise_invalid('queue', 'is the queue of the schedule ' || array_to_string(
        v_schedules[1 : 3], ', ') || case when cardinality(v_schedules) > 3 then ' and others' else '' end,
        'no schedule that is not paused, or force');
    end if;
  end if;
  insert into :SCHEMA.queue (queue) values (v_queue) on conflict do nothing;
  perform from :SCHEMA.queue q where q.queue = v_queue for update;
  select o.operation_id into v_id
  from :SCHEMA.operation o
  where o.finished_at_ms is null and o.action = 'delete_queue' and o.selector ->> 'queue' = v_queue;
  if found then
    return v_id;
  end if;
  v_depth := :SCHEMA.queue_depth_of(v_queue);
  if v_depth > 0 and not coalesce(delete_queue.force, false) then
    perform :SCHEMA.raise_invalid('queue', 'has ' || v_depth || ' unfinished jobs', 'none, or force');
  end if;
  if not coalesce(delete_queue.force, false)
    or v_depth = 0 and not exists (select from :SCHEMA.job j where j.queue = v_queue and j.stage <> 1)
  then
    perform :SCHEMA.clear_queue(v_queue);
    return null;
  end if;
  update :SCHEMA.queue q set max_unfinished_jobs = 0 where q.queue = v_queue;
  v_id := gen_random_uuid()::text;
  perform :SCHEMA.start_operation(v_id, 'delete_queue', jsonb_build_object('queue', v_queue), false);
  -- A producer whose transaction is still open belongs to the queue that goes.
  update :SCHEMA.operation o
  set upto_key = 9223372036854775806, before_key = 9223372036854775807
  where o.operation_id = v_id;
  return v_id;
end;
$$;
comment on function :SCHEMA.delete_queue is
  'Deletes a queue: its settings, limits and counts. A queue with unfinished jobs, or with a schedule that '
  'is not paused, is refused (HR007) unless force is true; then its schedules are paused, and a bulk '
  'operation, whose id is returned, cancels what runs and deletes every job of the queue, finished ones too, '
  'while producers are told HR004 backpressure with limit 0; when it is completed the name is as if it had '
  'never been used, and takes jobs again. Without force finished jobs stay as long as their retention says. '
  'Null: done already. Errors: HR007.';
revoke all on function :SCHEMA.delete_queue from public;
