create or replace function :SCHEMA.queue_name(queue text)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform :SCHEMA.check_text('queue', queue_name.queue, 255, true);
  return coalesce(nullif(queue_name.queue, ''), 'default');
end;
$$;
comment on function :SCHEMA.queue_name is
  'The name of a queue, the empty one as default; HR007 where it is null or too long.';
revoke all on function :SCHEMA.queue_name from public;
