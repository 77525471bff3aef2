create or replace function :SCHEMA.place_ceiling(
  name text, queue text, max_concurrent integer, on_saturated text
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_other text;
begin
  -- Waits for the admissions under way and keeps new ones out: they give no lease of its own to a job of a
  -- queue that they see without a ceiling. One of us at a time: the leases are split below.
  lock table :SCHEMA.lease in share row exclusive mode;
  select l.name into v_other from :SCHEMA.concurrency_limit l where l.queue = place_ceiling.queue;
  if v_other <> place_ceiling.name then
    perform :SCHEMA.raise_invalid('queue', 'has a ceiling already: ' || v_other, 'one ceiling a queue');
  end if;
  insert into :SCHEMA.concurrency_limit (name, queue, max_concurrent, on_saturated)
  values (place_ceiling.name, place_ceiling.queue, place_ceiling.max_concurrent, place_ceiling.on_saturated)
  on conflict (name) do update set
    queue = excluded.queue, max_concurrent = excluded.max_concurrent, on_saturated = excluded.on_saturated;
  perform :SCHEMA.split_leases(place_ceiling.queue);
end;
$$;
comment on function :SCHEMA.place_ceiling is
  'Sets a ceiling and counts by it what runs. 55P03 where a lock is not to be had in the lock_timeout of the '
  'caller, or a running job is locked. Errors: HR007.';
revoke all on function :SCHEMA.place_ceiling from public;
