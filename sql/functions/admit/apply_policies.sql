create or replace function :SCHEMA.apply_policies(candidates :SCHEMA.candidate[], chosen :SCHEMA.candidate[])
returns :SCHEMA.verdict
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_verdict :SCHEMA.verdict;
begin
  v_verdict.admitted := candidates;
  v_verdict.refusals := '{}';
  v_verdict.closed := '{}';
  v_verdict.demands := :SCHEMA.sum_demands(candidates);
  if exists (select from :SCHEMA.quarantine) then
    v_verdict := :SCHEMA.judge_quarantine(v_verdict);
  end if;
  v_verdict := :SCHEMA.judge_deadline(v_verdict);
  -- The order of the locks: rate classes by name, then ceilings by name.
  v_verdict := :SCHEMA.judge_rate_classes(v_verdict);
  v_verdict := :SCHEMA.judge_ceilings(v_verdict, chosen);
  if v_verdict.charging is not null then
    perform :SCHEMA.charge_classes(v_verdict);
  end if;
  return v_verdict;
end;
$$;
comment on function :SCHEMA.apply_policies is
  'Judges drawn jobs in their order, each needing every budget that applies to it, and charges the rate '
  'classes of those that pass. chosen are those that passed earlier in the call. Names the lines that are '
  'closed for the rest of it.';
revoke all on function :SCHEMA.apply_policies from public;
