create or replace function :SCHEMA.use_test_clock()
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from :SCHEMA.test_clock) then
    return;
  end if;
  if exists (select from :SCHEMA.job) or exists (select from :SCHEMA.worker)
    or exists (select from :SCHEMA.duty)
  then
    perform :SCHEMA.raise_invalid('schema', 'has been worked with, so its time stays as it is',
      'a schema without jobs, workers and duties');
  end if;
  insert into :SCHEMA.test_clock (offset_ms) values (0) on conflict do nothing;
end;
$$;
comment on function :SCHEMA.use_test_clock is
  'Makes this a schema for tests, whose time move_test_clock may move. Only for the owner, and only while '
  'nothing has been done in it: no schema that is in use can come to it. Errors: HR007.';
revoke all on function :SCHEMA.use_test_clock from public;
