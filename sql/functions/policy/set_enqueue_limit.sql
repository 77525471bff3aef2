create or replace function :SCHEMA.set_enqueue_limit(queue text, max_unfinished_jobs bigint)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_queue text := :SCHEMA.queue_name(set_enqueue_limit.queue);
begin
  if set_enqueue_limit.max_unfinished_jobs < 0 then
    perform :SCHEMA.raise_invalid('max_unfinished_jobs', 'is negative', '0 or more, null for no limit');
  end if;
  insert into :SCHEMA.queue (queue, max_unfinished_jobs)
  values (v_queue, set_enqueue_limit.max_unfinished_jobs)
  on conflict (queue) do update set max_unfinished_jobs = excluded.max_unfinished_jobs;
end;
$$;
comment on function :SCHEMA.set_enqueue_limit is
  'How many unfinished jobs a queue takes before producers are told HR004 backpressure; 0 closes it, null '
  'removes the limit. It may be lower than what is there: then nothing comes in until enough has gone. '
  'Errors: HR007.';
revoke all on function :SCHEMA.set_enqueue_limit from public;
