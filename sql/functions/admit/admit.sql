create or replace function :SCHEMA.admit(
  worker text,
  queues text[] default '{default}',
  capacity integer default 16,
  lease_ms bigint default 30000,
  quantum integer default null,
  lease_id text default null
)
returns setof :SCHEMA.claim
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select * from :SCHEMA.admit_hinted(
      admit.worker, admit.queues, admit.capacity, admit.lease_ms, admit.quantum, admit.lease_id) a
    where a.id is not null;
end;
$$;
comment on function :SCHEMA.admit is
  'Asks the gate what this worker may run: up to capacity jobs of these queues, each claimed with a lease of '
  'lease_ms and a fence, in the order to run them. quantum bounds what one partition gets; null shares the '
  'capacity evenly and gives what is left to whoever has work. Errors: HR007 invalid.';
revoke all on function :SCHEMA.admit from public;
