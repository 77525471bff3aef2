create or replace function :SCHEMA.create_operation(
  action text, selector jsonb, dry_run boolean default false, id text default null
)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_states text[] := :SCHEMA.operation_states(nullif(create_operation.action, 'delete_queue'));
  v_id text := coalesce(create_operation.id, gen_random_uuid()::text);
  v_old :SCHEMA.operation;
begin
  if v_states is null then
    perform :SCHEMA.raise_invalid('action', 'is unknown: '
      || coalesce(left(create_operation.action, 40), 'null'), 'retry, cancel, promote, delete');
  end if;
  perform :SCHEMA.check_text('id', v_id, 255);
  perform :SCHEMA.check_filter('selector', create_operation.selector);
  if create_operation.selector = '{}' then
    perform :SCHEMA.raise_invalid('selector', 'is empty', 'at least one field');
  elsif create_operation.selector ->> 'state' <> all (v_states) then
    perform :SCHEMA.raise_invalid('selector', 'names a state that ' || create_operation.action
      || ' does not move', array_to_string(v_states, ', '));
  end if;
  if not exists (select from :SCHEMA.operation o where o.operation_id = v_id) then
    if :SCHEMA.start_operation(v_id, create_operation.action, create_operation.selector,
      coalesce(create_operation.dry_run, false))
    then
      return v_id;
    end if;
  end if;
  select * into v_old from :SCHEMA.operation o where o.operation_id = v_id;
  if (v_old.action, v_old.selector, v_old.dry_run)
    is distinct from (create_operation.action, create_operation.selector,
      coalesce(create_operation.dry_run, false))
  then
    perform :SCHEMA.raise_error('HR002', 'the id belongs to another operation',
      jsonb_build_object('job_id', v_id));
  end if;
  return v_id;
end;
$$;
comment on function :SCHEMA.create_operation is
  'Begins to retry, cancel, promote or delete all jobs that a selector finds, as the single moves do, and '
  'returns the operation''s id; the duty run_pending_operations does the work and get_operation shows how '
  'far it is. The selector has the fields of list_jobs''s filter and at least one. Only jobs that exist now '
  'are touched, and a retry takes only what had ended by now. dry_run only counts: see estimated. The same '
  'call with the same id changes nothing. Errors: HR002 where the id belongs to another operation, HR007.';
revoke all on function :SCHEMA.create_operation from public;
