create or replace function :SCHEMA.note_sweep_error(sweep text, subject text, error text)
returns void
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  insert into :SCHEMA.sweep_error as e (sweep, subject, at_ms, error)
  values (note_sweep_error.sweep, note_sweep_error.subject, :SCHEMA.now_ms(),
    :SCHEMA.cut_text(note_sweep_error.error, 2048))
  on conflict (sweep, subject) do update
    set at_ms = excluded.at_ms, times = e.times + 1, error = excluded.error;
$$;
comment on function :SCHEMA.note_sweep_error is 'Names a row that a sweep could not move.';
revoke all on function :SCHEMA.note_sweep_error from public;
