create or replace function :SCHEMA.drop_saturated(keys bigint[], state text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_dropped :SCHEMA.job[];
begin
  with dropped as (
    update :SCHEMA.job j
    set state = cast(drop_saturated.state as :SCHEMA.job_state), finalized_at_ms = v_now,
      evict_at_ms = v_now + coalesce(j.retention_ms, :SCHEMA.failed_retention_ms(j.queue))
    where j.key = any (keys) and j.state = 'available'
    returning j.*
  )
  select array_agg(cast(d as :SCHEMA.job)) into v_dropped from dropped d;
  insert into :SCHEMA.tally (queue, at_ms, failed, depth)
  select d.queue, v_now, count(*), - count(*) from unnest(v_dropped) d group by d.queue;
  insert into :SCHEMA.attempt (job_key, job_id, kind, queue, attempt, finished_at_ms, outcome, error)
  select d.key, :SCHEMA.job_id(d.key, d.id), d.kind, d.queue, d.attempt, v_now,
    case d.state when 'archived' then 'saturated_discard' else 'saturated_cancel' end,
    'the ceiling of its partition was full'
  from unnest(v_dropped) d
  where not exists (select from :SCHEMA.queue q where q.queue = d.queue and q.history = 'none');
end;
$$;
comment on function :SCHEMA.drop_saturated is
  'Archives or cancels jobs that came to a full ceiling which does not let them wait, and says so in their '
  'history.';
revoke all on function :SCHEMA.drop_saturated from public;
