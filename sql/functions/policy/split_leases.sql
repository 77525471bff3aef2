create or replace function :SCHEMA.split_leases(queue text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_job record;
  v_lease_no bigint;
begin
  for v_job in
    select j.key, j.partition_key, l.lease_no, l.lease_id, l.worker, j.claimed_at_ms, l.expires_at_ms
    from :SCHEMA.lease l
    cross join lateral unnest(l.keys) k(key)
    join :SCHEMA.job j on j.key = k.key and j.lease_no = l.lease_no and j.state = 'running'
    where l.queue is null and j.queue = split_leases.queue
    order by j.key
    for update of j nowait
  loop
    insert into :SCHEMA.lease (lease_id, worker, queue, partition_key, claimed_at_ms, expires_at_ms, keys)
    values (v_job.lease_id, v_job.worker, split_leases.queue, v_job.partition_key, v_job.claimed_at_ms,
      v_job.expires_at_ms, array[v_job.key])
    returning lease_no into v_lease_no;
    update :SCHEMA.job j set lease_no = v_lease_no where j.key = v_job.key and j.lease_no = v_job.lease_no;
  end loop;
end;
$$;
comment on function :SCHEMA.split_leases is
  'Gives each running job of a queue a lease of its own, by which a ceiling counts it. The caller keeps '
  'admissions out. 55P03 where one of the jobs is locked.';
revoke all on function :SCHEMA.split_leases from public;
