create or replace function :SCHEMA.explain_admission(id text)
returns table (
  state text, admissible boolean, reason text, detail jsonb, position_in_line integer, eta_ms bigint
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := :SCHEMA.now_ms();
  v_job :SCHEMA.job;
  v_class record;
begin
  perform :SCHEMA.check_text('id', explain_admission.id, 255);
  select j.* into v_job from :SCHEMA.job j where j.key = :SCHEMA.job_key(explain_admission.id);
  if not found then
    return;
  end if;
  state := v_job.state::text;
  admissible := false;
  detail := '{}';
  if v_job.state = 'running' then
    reason := 'running';
    admissible := true;
    eta_ms := v_job.claimed_at_ms;
  elsif v_job.state in ('scheduled', 'retryable') then
    reason := 'schedule';
    eta_ms := v_job.scheduled_at_ms;
  elsif v_job.state <> 'available' then
    reason := v_job.state::text;
  else
    position_in_line := (
      select count(*) + 1 from (
        select from :SCHEMA.job j
        where j.queue = v_job.queue and j.line = v_job.line and j.partition_key = v_job.partition_key
          and j.sticky_worker = v_job.sticky_worker
          and j.class_key = v_job.class_key and j.priority = v_job.priority and j.stage = 1
          and (j.scheduled_at_ms, j.key) < (v_job.scheduled_at_ms, v_job.key) and j.state = 'available'
        order by j.scheduled_at_ms desc, j.key desc
        limit 1000) ahead);
    reason := :SCHEMA.held_back_by(v_job);
    admissible := reason is null;
    if reason = 'rate_class' then
      select c.name, round(c.tokens, 3) as tokens, c.ready_ms into v_class
      from (
        select r.name, :SCHEMA.class_tokens(r, v_now) as tokens,
          :SCHEMA.class_ready_ms(
            r, (position_in_line - 1) * v_job.weight::numeric + least(v_job.weight, r.burst),
              v_now) as ready_ms
        from :SCHEMA.rate_class r
        where r.name = any (v_job.rate_classes)
          and :SCHEMA.class_tokens(r, v_now) < least(v_job.weight, r.burst)) c
      order by c.ready_ms desc nulls first
      limit 1;
      detail := jsonb_build_object('rate_class', v_class.name, 'tokens', v_class.tokens, 'weight',
        v_job.weight);
      eta_ms := v_class.ready_ms;
    elsif reason = 'concurrency_limit' then
      detail := (
        select jsonb_build_object('limit', m.name, 'max_concurrent', m.max_concurrent, 'on_saturated',
          m.on_saturated, 'running', :SCHEMA.running_in(v_job.queue, v_job.partition_key))
        from :SCHEMA.concurrency_limit m where m.queue = v_job.queue);
    elsif reason = 'paused' then
      detail := jsonb_build_object('queue', v_job.queue);
    elsif v_job.sticky_worker <> '' then
      detail := jsonb_build_object('sticky_worker', v_job.sticky_worker);
    end if;
  end if;
  return next;
end;
$$;
comment on function :SCHEMA.explain_admission is
  'Why a job is not running, by the rules of the gate: paused, schedule, quarantine, deadline, rate_class, '
  'concurrency_limit, or its state where that is the reason; admissible where it runs, or nothing but its '
  'place in line stands before it (1 is the head; at most 1000 counted). eta_ms: when the reason will have '
  'passed, if that can be told; for a rate class, counting those ahead in its line at the same weight. No '
  'row where there is no such job. Errors: HR007.';
revoke all on function :SCHEMA.explain_admission from public;
