create or replace function :SCHEMA.judge_round(
  pass :SCHEMA.gate_pass, round :SCHEMA.gate_round, flags :SCHEMA.gate_flags, at_ms bigint
)
returns :SCHEMA.gate_pass
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_verdict :SCHEMA.verdict;
  v_first boolean := pass.demands is null;
begin
  if flags.classes or flags.ceilings or flags.quarantine or round.dated then
    v_verdict := :SCHEMA.apply_policies(round.picked, pass.lanes, pass.demands, flags, round.dated, at_ms);
    pass.refusals := pass.refusals || v_verdict.refusals;
    pass.ready_ms := least(pass.ready_ms, v_verdict.ready_ms);
    pass.charging := pass.charging || v_verdict.charging;
    pass.own_leases := pass.own_leases || v_verdict.own_leases;
    pass.decided_ms := coalesce(v_verdict.at_ms, pass.decided_ms);
  else
    v_verdict.admitted := round.picked;
    v_verdict.closed := '{}';
  end if;
  pass.admitted := v_verdict.admitted;
  pass.closed := v_verdict.closed;
  pass.chosen := case when (pass.chosen).keys is null then v_verdict.admitted
    else :SCHEMA.join_batches(pass.chosen, v_verdict.admitted) end;
  pass.demands := case when v_first then v_verdict.demands
    else :SCHEMA.sum_demands(pass.chosen, pass.lanes) end;
  return pass;
end;
$$;
comment on function :SCHEMA.judge_round is
  'Applies the policies, as far as there are any, to what a round has picked, and adds it up: who passes '
  '(admitted, and all chosen so far), which lines are closed, and what there is to tell of it.';
revoke all on function :SCHEMA.judge_round from public;
