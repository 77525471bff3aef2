create or replace function :SCHEMA.guard_transition()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from text := case when tg_op = 'INSERT' then 'new' else old.state::text end;
  v_to text := case when tg_op = 'DELETE' then 'deleted' else new.state::text end;
  v_context text;
begin
  if tg_op = 'INSERT' and v_to in ('pending', 'scheduled', 'available')
    or tg_op = 'UPDATE' and v_from = v_to
    or exists (select from :SCHEMA.transition t where t.from_state = v_from and t.to_state = v_to)
  then
    return null;
  end if;
  get diagnostics v_context = pg_context;
  perform :SCHEMA.raise_error('HR009', 'a job may not go from ' || v_from || ' to ' || v_to,
    jsonb_build_object(
    'job_id', case when tg_op = 'DELETE' then :SCHEMA.job_id(old.key, old.id)
      else :SCHEMA.job_id(new.key, new.id) end,
    'from', v_from, 'to', v_to,
    'event', coalesce((select m[1] from regexp_matches(v_context, 'function \S*?([a-z_]+)\(',
      'g') m offset 1 limit 1), 'sql')));
  return null;
end;
$$;
comment on function :SCHEMA.guard_transition is
  'Trigger: refuses with HR009 a move that has no row in the table transition. Off unless '
  'set_transition_guard(true).';
revoke all on function :SCHEMA.guard_transition from public;
