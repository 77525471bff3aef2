create or replace function :SCHEMA.place_jobs(jobs :SCHEMA.job_input[], limited boolean)
returns :SCHEMA.placed_job[]
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_at_ms bigint := :SCHEMA.now_ms();
  v_job :SCHEMA.job_input;
  v_first_ord integer;
  v_last_key bytea;
  v_placed :SCHEMA.placed_job[];
  v_repeat :SCHEMA.placed_job;
begin
  if cardinality(jobs) > 1 and not exists (
    select from unnest(jobs) j
    where j.unique_window_ms is not null or j.id is not null and :SCHEMA.generated_key(j.id) is not null)
  then
    begin
      v_placed := :SCHEMA.place_together(jobs, v_at_ms);
    exception when sqlstate 'HR000' then
      null;
    end;
  end if;
  if v_placed is null then
    -- In order of key, so that two batches with the same keys wait for each other instead of deadlocking.
    for v_job in select * from unnest(jobs) j order by j.unique_key nulls first, j.id nulls first, j.ord loop
      if v_job.unique_key = v_last_key then
        v_repeat.ord := v_job.ord;
        v_repeat.disposition := 'duplicate';
        v_repeat.replaced := false;
        v_repeat.detail := jsonb_build_object('repeats_job', v_first_ord);
        v_placed := v_placed || v_repeat;
      else
        v_placed := v_placed || :SCHEMA.place_named(v_job, v_at_ms);
        v_last_key := v_job.unique_key;
        v_first_ord := v_job.ord;
      end if;
    end loop;
  end if;
  if limited then
    v_placed := :SCHEMA.apply_enqueue_limits(jobs, v_placed);
  end if;
  return v_placed;
end;
$$;
comment on function :SCHEMA.place_jobs is
  'Inserts checked jobs and returns what became of each; the caller undoes the batch where one was refused.';
revoke all on function :SCHEMA.place_jobs from public;
