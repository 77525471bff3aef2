create or replace function :SCHEMA.ack_many(acks json)
returns table (ord integer, job_id text, state text, rejected boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_acks :SCHEMA.ack_input[] := :SCHEMA.read_acks(acks);
  v_settled :SCHEMA.settled_job[];
begin
  v_settled := :SCHEMA.settle(v_acks);
  return query
    select a.ord, a.id, s.state, s.ord is null
    from unnest(v_acks) a
    left join unnest(v_settled) s on s.ord = a.ord
    order by a.ord;
end;
$$;
comment on function :SCHEMA.ack_many is
  'Ends many attempts at once and returns a row each, in order: the state reached (deleted: no row any '
  'more), or rejected where the lease or fence no longer holds the job, which then has not been touched. '
  'Keys of an ack: job_id, lease_id, fence, outcome (success, retry, skip, revoke, snooze, rate_limited, '
  'undecodable, checkpoint_stale), error, delay_ms (needed for snooze, optional for retry), logs (list), '
  'actual_weight, result_base64, result_schema_version. A value outside its limits and an unknown key raise '
  'HR007, and nothing is written.';
revoke all on function :SCHEMA.ack_many from public;
