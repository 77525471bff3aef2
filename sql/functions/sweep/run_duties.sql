create or replace function :SCHEMA.run_duties(
  holder text, duties text[] default null, max_rows integer default 1000, lease_ms bigint default 10000
)
returns table (duty text, did bigint, error text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_variable
declare
  c_all text[] := :SCHEMA.duty_names();
  v_row :SCHEMA.duty;
  v_batch integer;
  v_eased boolean;
begin
  perform :SCHEMA.check_max_rows(max_rows);
  if not coalesce(duties, c_all) <@ c_all then
    perform :SCHEMA.raise_invalid('duties', 'names an unknown one', array_to_string(c_all, ', '));
  end if;
  foreach duty in array coalesce(duties, c_all) loop
    continue when not :SCHEMA.claim_duty(duty, holder, lease_ms);
    select * into v_row from :SCHEMA.duty d where d.name = duty;
    -- None is put off for more than a minute, unless the clock has stepped back since.
    continue when v_row.retry_at_ms - :SCHEMA.now_ms() between 1 and 60000;
    did := 0;
    error := null;
    v_batch := greatest(1, max_rows >> v_row.shrink);
    begin
      did := case duty
        when 'reclaim_expired' then (select count(*) from :SCHEMA.reclaim_expired(v_batch))
        when 'promote_due' then :SCHEMA.promote_due(v_batch)
        when 'tick_schedules' then :SCHEMA.tick_schedules(v_batch)
        when 'expire_deadlines' then :SCHEMA.expire_deadlines(v_batch)
        when 'quarantine_sweep' then :SCHEMA.quarantine_sweep(v_batch)
        when 'evict_retained' then :SCHEMA.evict_retained(v_batch)
        when 'roll_up_tallies' then :SCHEMA.roll_up_tallies(v_batch)
        when 'run_pending_operations' then :SCHEMA.run_pending_operations(least(v_batch, 10000))
        when 'make_archive_months' then :SCHEMA.make_archive_months()
        when 'janitor' then :SCHEMA.janitor(v_batch)
      end;
      -- What was too much is not tried again before a minute has passed.
      v_eased := v_row.shrink > 0 and v_row.shrunk_at_ms <= :SCHEMA.now_ms() - 60000;
      update :SCHEMA.duty d
      set failures = 0, ran_at_ms = :SCHEMA.now_ms(), last_error = null, retry_at_ms = 0,
        shrink = d.shrink - v_eased::integer,
        shrunk_at_ms = case when v_eased then :SCHEMA.now_ms() else d.shrunk_at_ms end
      where d.name = duty and (d.failures > 0 or d.ran_at_ms is null or did > 0 or v_eased
        or d.ran_at_ms < :SCHEMA.now_ms() - 60000);
    exception when others or query_canceled then
      -- Noted and tried again later with half the rows; the other duties go on.
      error := sqlerrm;
      update :SCHEMA.duty d
      set failures = least(d.failures, 1000) + 1, shrink = least(d.shrink + 1, 16),
        shrunk_at_ms = :SCHEMA.now_ms(), last_error = :SCHEMA.cut_text(sqlstate || ' ' || sqlerrm,
        2048), retry_at_ms = :SCHEMA.now_ms() + least(60000, 1000 << least(d.failures, 6))
      where d.name = duty;
    end;
    return next;
  end loop;
end;
$$;
comment on function :SCHEMA.run_duties is
  'Runs the sweeps that this holder can have, each under its duty lease and bounded by max_rows, and returns '
  'what each did. One that fails returns its error, is tried again later with half the rows, and holds up no '
  'other. Call it every second or so from a worker, pg_cron or a loop. Errors: HR007.';
revoke all on function :SCHEMA.run_duties from public;
