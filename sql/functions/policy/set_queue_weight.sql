create or replace function :SCHEMA.set_queue_weight(queue text, weight integer)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_queue text := :SCHEMA.queue_name(set_queue_weight.queue);
begin
  perform :SCHEMA.check_range('weight', set_queue_weight.weight, 1, 2147483647);
  insert into :SCHEMA.queue (queue, weight)
  values (v_queue, set_queue_weight.weight)
  on conflict (queue) do update set weight = excluded.weight;
end;
$$;
comment on function :SCHEMA.set_queue_weight is
  'How much of several queues'' capacity a queue gets, in proportion to the others: 1 or more, 1 without a '
  'setting. Priority orders inside a queue and never across. Errors: HR007.';
revoke all on function :SCHEMA.set_queue_weight from public;
