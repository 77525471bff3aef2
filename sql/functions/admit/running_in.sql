create or replace function :SCHEMA.running_in(queue text, partition_key text)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
begin
  return (
    select count(*) from :SCHEMA.held_place h
    where h.queue = running_in.queue and h.partition_key = running_in.partition_key);
end;
$$;
comment on function :SCHEMA.running_in is 'How many jobs of a partition run, in a queue that has a ceiling.';
revoke all on function :SCHEMA.running_in from public;
