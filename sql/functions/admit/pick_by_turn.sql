create or replace function :SCHEMA.pick_by_turn(drawn :SCHEMA.candidate[], capacity integer)
returns :SCHEMA.candidate[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select d
    from unnest(drawn) d
    order by d.rank, d.served_at_ms, d.priority desc, d.scheduled_at_ms, d.partition_key, d.key
    limit capacity);
end;
$$;
comment on function :SCHEMA.pick_by_turn is
  'What pick comes to within one queue without a quantum: the partitions take turns job by job, longest '
  'waiting first.';
revoke all on function :SCHEMA.pick_by_turn from public;
