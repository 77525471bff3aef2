create or replace function :SCHEMA.apply_policies(
  jobs :SCHEMA.batch, lanes :SCHEMA.lane_start[], earlier :SCHEMA.demand[], flags :SCHEMA.gate_flags,
    dated boolean, at_ms bigint
)
returns :SCHEMA.verdict
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_verdict :SCHEMA.verdict;
  v_ceilings :SCHEMA.concurrency_limit[];
  v_ceiling :SCHEMA.concurrency_limit;
  v_near text[];
begin
  v_verdict.admitted := jobs;
  v_verdict.refusals := '{}';
  v_verdict.closed := '{}';
  v_verdict.demands := :SCHEMA.sum_demands(jobs, lanes);
  if flags.quarantine then
    v_verdict := :SCHEMA.judge_quarantine(v_verdict, lanes);
  end if;
  if dated then
    v_verdict := :SCHEMA.judge_deadline(v_verdict, lanes);
  end if;
  if earlier is not null then
    v_verdict := :SCHEMA.pass_over_busy(v_verdict, lanes);
  end if;
  if flags.classes then
    -- Only those of these jobs: queues with other classes never wait for each other. The tokens are those of
    -- the row as it is once it is locked.
    select array_agg(l.name), array_agg(l.weight), bool_or(l.short)
    into v_verdict.charging, v_verdict.spent, v_verdict.short
    from (
      select r.name, s.weight, s.weight > :SCHEMA.class_tokens(r, apply_policies.at_ms) as short
      from (
        select n.name, sum(n.weight) as weight
        from (select unnest(d.rate_classes) as name, d.weight from unnest(v_verdict.demands) d) n
        group by n.name) s
      join :SCHEMA.rate_class r on r.name = s.name
      order by r.name
      for update of r) l;
  end if;
  if flags.ceilings then
    select array_agg(l.ceiling), array_agg((l.ceiling).queue) into v_ceilings, v_verdict.own_leases
    from (
      select m as ceiling from :SCHEMA.concurrency_limit m
      where m.queue = any (array(select d.queue from unnest(v_verdict.demands) d))
      order by m.name
      for update) l;
  end if;
  if v_verdict.charging is not null or v_ceilings is not null then
    -- The locks may have been waited for.
    v_verdict.at_ms := :SCHEMA.clock_ms(flags.offset_ms);
  end if;
  if v_verdict.short then
    v_verdict := :SCHEMA.judge_rate_classes(v_verdict, lanes);
  end if;
  if v_ceilings is not null then
    foreach v_ceiling in array v_ceilings loop
      v_near := :SCHEMA.near_ceiling(v_ceiling, v_verdict.demands, earlier);
      if v_near <> '{}' then
        v_verdict := :SCHEMA.judge_ceiling(v_verdict, lanes, earlier, v_ceiling, v_near);
      end if;
    end loop;
  end if;
  if v_verdict.charging is not null then
    perform :SCHEMA.charge_classes(v_verdict);
  end if;
  return v_verdict;
end;
$$;
comment on function :SCHEMA.apply_policies is
  'Judges drawn jobs in their order, each needing every budget that applies to it, and charges the rate '
  'classes of those that pass. earlier: what passed before in the same call; flags, dated: what there is to '
  'judge by. Names lines that are closed for the rest of the call.';
revoke all on function :SCHEMA.apply_policies from public;
