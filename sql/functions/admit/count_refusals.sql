create or replace function :SCHEMA.count_refusals(refusals :SCHEMA.refusal[], at_ms bigint)
returns jsonb
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  insert into :SCHEMA.tally (queue, at_ms, refused)
  select r.queue, count_refusals.at_ms, jsonb_object_agg(r.reason, r.n)
  from (
    select u.queue, u.reason, sum(u.n) as n from unnest(count_refusals.refusals) u group by u.queue, u.reason
  ) r
  group by r.queue;
  return (
    select jsonb_object_agg(r.reason, r.n)
    from (select u.reason, sum(u.n) as n from unnest(count_refusals.refusals) u group by u.reason) r);
end;
$$;
comment on function :SCHEMA.count_refusals is
  'Adds what the gate held back to the counters of its queues, and returns how many for which reason.';
revoke all on function :SCHEMA.count_refusals from public;
