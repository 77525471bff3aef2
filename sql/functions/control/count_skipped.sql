create or replace function :SCHEMA.count_skipped(skipped jsonb, error text)
returns jsonb
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reason text := case when error ~ '^23505 ' then 'duplicate' else left(error, 106) end;
begin
  -- A message may name the row, so there may be as many as rows.
  if not skipped ? v_reason and (select count(*) from jsonb_object_keys(skipped)) >= 20 then
    v_reason := 'other';
  end if;
  return :SCHEMA.sum_counts(jsonb_build_array(skipped, jsonb_build_object(v_reason, 1)));
end;
$$;
comment on function :SCHEMA.count_skipped is
  'The counts of the jobs that a bulk operation could not move, by reason, with one more; at most 20 reasons '
  'and other.';
revoke all on function :SCHEMA.count_skipped from public;
