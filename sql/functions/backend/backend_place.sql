create or replace function :SCHEMA.backend_place(input :SCHEMA.backend_input)
returns :SCHEMA.placed_job
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_limited boolean := :SCHEMA.lock_enqueue_limits(array[input.job]);
  v_placed :SCHEMA.placed_job := :SCHEMA.place_named(input.job, :SCHEMA.now_ms());
  v_job :SCHEMA.job;
begin
  if v_limited then
    v_placed := (:SCHEMA.apply_enqueue_limits(array[input.job], array[v_placed]))[1];
  end if;
  if v_placed.disposition not in ('inserted', 'replayed', 'duplicate') then
    perform :SCHEMA.raise_refusal(array[v_placed]);
  elsif v_placed.disposition = 'replayed' then
    select j.* into v_job from :SCHEMA.job j where j.key = v_placed.key;
    if found then
      perform :SCHEMA.backend_check_same(v_job, input);
    end if;
  end if;
  return v_placed;
end;
$$;
comment on function :SCHEMA.backend_place is
  'Inserts a job of the backend surface, or says which one stands in its way. Errors: HR002, HR003, HR004.';
revoke all on function :SCHEMA.backend_place from public;
