create or replace function :SCHEMA.backend_admit(
  worker text, queues text[], capacity integer, lease_ms bigint, quantum integer default null
)
returns setof :SCHEMA.backend_claim
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_rows :SCHEMA.claim[];
begin
  v_rows := array(
    select c from :SCHEMA.admit_hinted(worker, queues, capacity, lease_ms, quantum,
      gen_random_uuid()::text) c);
  perform :SCHEMA.backend_open_runs(array(select c from unnest(v_rows) c where c.id is not null), worker,
    false);
  return query
    select r.*, a.run_id, j.actor_json, j.signature_hash::text
    from generate_subscripts(v_rows, 1) i(n)
    cross join lateral unnest(v_rows[i.n : i.n]) r
    left join :SCHEMA.job j on j.key = :SCHEMA.job_key(r.id)
    left join :SCHEMA.attempt a on a.job_key = j.key and a.finished_at_ms is null and a.fence = j.fence
    order by i.n;
end;
$$;
comment on function :SCHEMA.backend_admit is
  'What admit_hinted does, for workers of the backend surface: the runs of the claims are opened with them. '
  'Errors: HR007.';
revoke all on function :SCHEMA.backend_admit from public;
