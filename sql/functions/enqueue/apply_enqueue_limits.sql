create or replace function :SCHEMA.apply_enqueue_limits(jobs :SCHEMA.job_input[], placed :SCHEMA.placed_job[])
returns :SCHEMA.placed_job[]
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue record;
  v_depth bigint;
begin
  for v_queue in
    select q.queue, q.max_unfinished_jobs as most, count(*) as incoming
    from :SCHEMA.queue q
    join unnest(jobs) j on j.queue = q.queue
    join unnest(placed) p on p.ord = j.ord and p.disposition = 'inserted'
    where q.max_unfinished_jobs is not null
    group by q.queue, q.max_unfinished_jobs
    order by q.queue
  loop
    v_depth := :SCHEMA.queue_depth_of(v_queue.queue);
    if v_depth > v_queue.most then
      placed := array(
        select case
          when p.disposition = 'inserted' and j.queue = v_queue.queue then
            cast(row(p.ord, null, null, 'backpressure', null, false,
              jsonb_build_object('queue', v_queue.queue, 'limit', v_queue.most, 'current',
                v_depth - v_queue.incoming, 'incoming', v_queue.incoming))
              as :SCHEMA.placed_job)
          else p
        end
        from unnest(placed) p
        join unnest(jobs) j on j.ord = p.ord
        order by p.ord);
    end if;
  end loop;
  return placed;
end;
$$;
comment on function :SCHEMA.apply_enqueue_limits is
  'Marks inserted jobs as refused by backpressure where their queue, which the caller has locked, is now '
  'over its limit.';
revoke all on function :SCHEMA.apply_enqueue_limits from public;
