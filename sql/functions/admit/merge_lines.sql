create or replace function :SCHEMA.merge_lines(jobs :SCHEMA.batch, lanes :SCHEMA.lane_start[])
returns :SCHEMA.batch
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_jobs :SCHEMA.batch;
begin
  select array_agg(r.place), array_agg(r.key), array_agg(r.lane), array_agg(r.weight), array_agg(r.due_ms)
  into v_jobs.places, v_jobs.keys, v_jobs.lane_of, v_jobs.weights, v_jobs.times
  from (
    select d.*
    from (
      select j.*, l.part, l.served_at_ms, l.priority,
        row_number() over (partition by l.part order by l.priority desc, j.due_ms, j.key) as turn
      from (
        select unnest(jobs.places) as place, unnest(jobs.keys) as key, unnest(jobs.lane_of) as lane,
          unnest(jobs.weights) as weight, unnest(jobs.times) as due_ms) j
      join unnest(lanes) l on l.place = j.lane) d
    order by d.turn, d.served_at_ms, d.priority desc, d.due_ms, d.part, d.key) r;
  return v_jobs;
end;
$$;
comment on function :SCHEMA.merge_lines is
  'Puts drawn jobs in the order in which they run where partitions have several lines: the partitions take '
  'turns job by job, longest waiting first, and within a partition it goes by priority, due time and age.';
revoke all on function :SCHEMA.merge_lines from public;
