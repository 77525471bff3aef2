create or replace function :SCHEMA.upsert_concurrency_limit(
  name text, queue text, max_concurrent integer, on_saturated text default 'queue'
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
#variable_conflict use_column
declare
  v_queue text := coalesce(nullif(upsert_concurrency_limit.queue, ''), 'default');
  v_other text;
begin
  perform :SCHEMA.check_text('name', upsert_concurrency_limit.name, 255);
  perform :SCHEMA.check_text('queue', v_queue, 255);
  perform :SCHEMA.check_range('max_concurrent', upsert_concurrency_limit.max_concurrent, 1, 2147483647);
  if coalesce(upsert_concurrency_limit.on_saturated, '') not in ('queue', 'discard', 'cancel_incoming',
    'cancel_running') then
    perform :SCHEMA.raise_invalid('on_saturated', 'is unknown',
      'queue, discard, cancel_incoming, cancel_running');
  end if;
  -- Waits for the admissions under way and keeps new ones out: they give no lease of its own to a job of a
  -- queue that they see without a ceiling. One of us at a time: the leases are split below.
  lock table :SCHEMA.lease in share row exclusive mode;
  select l.name into v_other from :SCHEMA.concurrency_limit l where l.queue = v_queue;
  if v_other <> upsert_concurrency_limit.name then
    perform :SCHEMA.raise_invalid('queue', 'has a ceiling already: ' || v_other, 'one ceiling a queue');
  end if;
  insert into :SCHEMA.concurrency_limit (name, queue, max_concurrent, on_saturated)
  values (upsert_concurrency_limit.name, v_queue, upsert_concurrency_limit.max_concurrent,
    upsert_concurrency_limit.on_saturated)
  on conflict (name) do update set
    queue = excluded.queue, max_concurrent = excluded.max_concurrent, on_saturated = excluded.on_saturated;
  perform :SCHEMA.split_leases(v_queue);
end;
$$;
comment on function :SCHEMA.upsert_concurrency_limit is
  'Limits how many jobs of each partition of a queue run at once, jobs that run already included. When it is '
  'reached, a job waits (queue), is archived (discard), is cancelled (cancel_incoming), or the one that runs '
  'longest is (cancel_running). Errors: HR007, also where the queue has a ceiling of another name.';
revoke all on function :SCHEMA.upsert_concurrency_limit from public;
