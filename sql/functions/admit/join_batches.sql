create or replace function :SCHEMA.join_batches(first :SCHEMA.batch, second :SCHEMA.batch)
returns :SCHEMA.batch
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  first.places := first.places || second.places;
  first.keys := first.keys || second.keys;
  first.lane_of := first.lane_of || second.lane_of;
  first.weights := first.weights || second.weights;
  first.times := first.times || second.times;
  return first;
end;
$$;
comment on function :SCHEMA.join_batches is 'The jobs of both, the first ones first.';
revoke all on function :SCHEMA.join_batches from public;
