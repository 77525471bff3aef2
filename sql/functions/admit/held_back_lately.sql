create or replace function :SCHEMA.held_back_lately(queues text[], at_ms bigint)
returns boolean
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  return exists (
    select from :SCHEMA.queue_minute m
    where m.queue = any (queues) and m.minute_ms >= held_back_lately.at_ms - 120000
      and m.refused ?| array['rate_class', 'concurrency_limit']);
end;
$$;
comment on function :SCHEMA.held_back_lately is
  'Whether a rate class or a ceiling has held back jobs of these queues within the last two minutes, as far '
  'as the counters have been rolled up.';
revoke all on function :SCHEMA.held_back_lately from public;
