create or replace function :SCHEMA.running_in(queue text, partition_key text)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce((
    select r.running
    from :SCHEMA.running_by_partition(running_in.queue, array[running_in.partition_key]) r), 0);
end;
$$;
comment on function :SCHEMA.running_in is 'How many jobs of a partition run, in a queue that has a ceiling.';
revoke all on function :SCHEMA.running_in from public;
