create or replace function :SCHEMA.release_duty(name text, holder text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform :SCHEMA.check_text('name', release_duty.name, 255);
  perform :SCHEMA.check_text('holder', release_duty.holder, 255);
  update :SCHEMA.duty d
  set expires_at_ms = 0
  where d.name = release_duty.name and d.holder = release_duty.holder;
end;
$$;
comment on function :SCHEMA.release_duty is
  'Gives a duty up at once, where it is the holder''s; otherwise nothing happens. Errors: HR007.';
revoke all on function :SCHEMA.release_duty from public;
