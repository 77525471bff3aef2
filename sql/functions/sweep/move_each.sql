create or replace function :SCHEMA.move_each(move text, keys bigint[], until_ms bigint, most_failed integer)
returns :SCHEMA.move_result
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '250ms'
as $$
declare
  v_all :SCHEMA.move_result := row(0, '{}', '{}', '{}');
  v_part :SCHEMA.move_result;
  v_count integer := cardinality(keys);
  v_error text;
begin
  if v_count = 0 then
    return v_all;
  end if;
  begin
    v_all.done := :SCHEMA.move_jobs(move, keys);
    return v_all;
  exception when others then
    v_error := sqlstate || ' ' || sqlerrm;
  end;
  if v_count = 1 then
    v_all.failed := keys;
    v_all.errors := array[v_error];
    return v_all;
  elsif most_failed < 1 or :SCHEMA.now_ms() > until_ms then
    v_all.left_over := keys;
    return v_all;
  end if;
  -- The rows that fail are found by halves, so the others cost a few statements and not one each.
  v_all := :SCHEMA.move_each(move, keys[1 : v_count / 2], until_ms, most_failed);
  if v_all.left_over <> '{}' then
    v_all.left_over := v_all.left_over || keys[v_count / 2 + 1 : v_count];
    return v_all;
  end if;
  v_part := :SCHEMA.move_each(move, keys[v_count / 2 + 1 : v_count], until_ms,
    most_failed - cardinality(v_all.failed));
  return row(v_all.done + v_part.done, v_all.failed || v_part.failed, v_all.errors || v_part.errors,
    v_part.left_over);
end;
$$;
comment on function :SCHEMA.move_each is
  'move_jobs for all that can be moved, in order: one bad row holds up no other. Says how many were moved, '
  'which failed and why, and which, the last ones, it did not come to because the time was over or '
  'most_failed had failed.';
revoke all on function :SCHEMA.move_each from public;
