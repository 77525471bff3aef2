create or replace function :SCHEMA.upsert_concurrency_limit(
  name text, queue text, max_concurrent integer, on_saturated text default 'queue'
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '250ms'
as $$
#variable_conflict use_column
declare
  v_queue text := :SCHEMA.queue_name(upsert_concurrency_limit.queue);
begin
  perform :SCHEMA.check_text('name', upsert_concurrency_limit.name, 255);
  perform :SCHEMA.check_range('max_concurrent', upsert_concurrency_limit.max_concurrent, 1, 2147483647);
  if coalesce(upsert_concurrency_limit.on_saturated, '') not in ('queue', 'discard', 'cancel_incoming',
    'cancel_running') then
    perform :SCHEMA.raise_invalid('on_saturated', 'is unknown',
      'queue, discard, cancel_incoming, cancel_running');
  end if;
  -- Who ends a job locks it before its lease, and we do it the other way round: we give way, and neither they
  -- nor the gates wait for long.
  for v_try in 1..24 loop
    begin
      perform :SCHEMA.place_ceiling(upsert_concurrency_limit.name, v_queue,
        upsert_concurrency_limit.max_concurrent, upsert_concurrency_limit.on_saturated);
      return;
    exception when lock_not_available then
      perform pg_sleep(0.02 + random() * 0.02);
    end;
  end loop;
  perform :SCHEMA.place_ceiling(upsert_concurrency_limit.name, v_queue,
    upsert_concurrency_limit.max_concurrent, upsert_concurrency_limit.on_saturated);
end;
$$;
comment on function :SCHEMA.upsert_concurrency_limit is
  'Limits how many jobs of each partition of a queue run at once, jobs that run already included. When it is '
  'reached, a job waits (queue), is archived (discard), is cancelled (cancel_incoming), or the one that runs '
  'longest is (cancel_running). Waits some seconds at most for admissions and for ends of jobs that are '
  'under way, and then fails with 55P03: call it again. Errors: HR007, also where the queue has a ceiling of '
  'another name.';
revoke all on function :SCHEMA.upsert_concurrency_limit from public;
