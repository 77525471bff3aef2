create or replace function :SCHEMA.drop_saturated(keys bigint[], state text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
begin
  with dropped as (
    update :SCHEMA.job j
    set state = cast(drop_saturated.state as :SCHEMA.job_state), finalized_at_ms = v_now,
      evict_at_ms = v_now + coalesce(j.retention_ms, :SCHEMA.failed_retention_ms(j.queue))
    where j.key = any (keys) and j.state = 'available'
    returning j.queue
  )
  insert into :SCHEMA.tally (queue, at_ms, failed, depth)
  select d.queue, v_now, count(*), - count(*) from dropped d group by d.queue;
end;
$$;
comment on function :SCHEMA.drop_saturated is
  'Archives or cancels jobs that came to a full ceiling which does not let them wait.';
revoke all on function :SCHEMA.drop_saturated from public;
