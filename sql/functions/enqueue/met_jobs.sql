create or replace function :SCHEMA.met_jobs(jobs :SCHEMA.job_input[], keys bigint[])
returns :SCHEMA.placed_job[]
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_placed :SCHEMA.placed_job[];
begin
  v_placed := array(
    select case
      when j.first_ord <> j.ord then
        cast(row(j.ord, null, null, 'duplicate', null, false, jsonb_build_object('repeats_job', j.first_ord))
          as :SCHEMA.placed_job)
      when n.key is not null then
        cast(row(j.ord, n.key, :SCHEMA.job_id(n.key, j.id), 'inserted', null, false, null)
          as :SCHEMA.placed_job)
      when i.key is not null then
        cast(row(j.ord, i.key, j.id, case when i.kind = j.kind and i.queue = j.queue
            and coalesce(i.fingerprint, :SCHEMA.fingerprint(i.kind, i.payload)) = f.fingerprint
              then 'replayed'
          else 'id_conflict' end, j.id, false, jsonb_build_object('job_id', j.id)) as :SCHEMA.placed_job)
      when q.fingerprint is not null then
        cast(row(j.ord, null, null, 'quarantined', null, false,
          jsonb_build_object('fingerprint', q.fingerprint)) as :SCHEMA.placed_job)
      when h.key is not null then
        cast(row(j.ord, h.key, null, 'duplicate', :SCHEMA.job_id(h.key, h.id), false, null)
          as :SCHEMA.placed_job)
    end
    from (
      select u.*, case when u.unique_key is not null then
          first_value(u.ord) over (partition by u.unique_key order by u.id nulls first,
            u.ord) end as first_ord
      from unnest(jobs) u) j
    left join lateral (select b.key from :SCHEMA.job b where b.key = keys[j.ord] offset 0) n on true
    left join lateral (
      select b.key, b.kind, b.queue, b.fingerprint, b.payload from :SCHEMA.job b
      where b.id = j.id and n.key is null offset 0) i on true
    left join lateral (
      select coalesce(j.fingerprint, :SCHEMA.fingerprint(j.kind, j.payload)) as fingerprint
      where n.key is null offset 0) f on true
    left join lateral (
      select b.fingerprint from :SCHEMA.quarantine b where b.fingerprint = f.fingerprint offset 0) q on true
    left join lateral (
      select b.key, b.id from :SCHEMA.job b
      where b.unique_key = j.unique_key and b.stage < 2 and n.key is null offset 0) h on true
    order by j.ord);
  if array_position(v_placed, null) is not null then
    perform :SCHEMA.raise_error('HR000', 'a job that was met has ended');
  end if;
  return v_placed;
end;
$$;
comment on function :SCHEMA.met_jobs is
  'What became of each of these jobs, those that were inserted having these keys: the others met a job of '
  'their id or unique key, or are quarantined. Fails, to be undone, where the job that one met has ended '
  'meanwhile.';
revoke all on function :SCHEMA.met_jobs from public;
