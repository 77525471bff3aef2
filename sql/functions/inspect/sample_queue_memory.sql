create or replace function :SCHEMA.sample_queue_memory(max_rows integer default 100)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_sampled bigint;
begin
  perform :SCHEMA.check_max_rows(max_rows, 1000);
  insert into :SCHEMA.queue_sample as s (queue, job_bytes, sampled_jobs, sampled_at_ms)
  select n.queue, coalesce(b.job_bytes, 0), b.jobs, v_now
  from (
    select d.queue
    from :SCHEMA.queue_depth d
    left join :SCHEMA.queue_sample o on o.queue = d.queue
    order by o.sampled_at_ms nulls first, d.queue
    limit 200) n
  cross join lateral (
    select avg(pg_column_size(j.*))::bigint as job_bytes, count(*)::integer as jobs
    from (
      (select j.* from :SCHEMA.job j where j.queue = n.queue
        and j.stage = 1 limit sample_queue_memory.max_rows)
      union all
      (select j.* from :SCHEMA.job j where j.queue = n.queue and j.stage = 0
       order by j.scheduled_at_ms desc, j.key desc limit sample_queue_memory.max_rows)
      limit sample_queue_memory.max_rows) j) b
  order by n.queue
  on conflict (queue) do update
    set job_bytes = excluded.job_bytes, sampled_jobs = excluded.sampled_jobs,
      sampled_at_ms = excluded.sampled_at_ms;
  get diagnostics v_sampled = row_count;
  return v_sampled;
end;
$$;
comment on function :SCHEMA.sample_queue_memory is
  'Measures what an unfinished job takes on disk, by up to max_rows (1..1000) jobs of each of the 200 queues '
  'sampled longest ago, for queue_stats. Returns how many queues were sampled. Errors: HR007.';
revoke all on function :SCHEMA.sample_queue_memory from public;
