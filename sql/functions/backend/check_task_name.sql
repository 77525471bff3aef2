create or replace function :SCHEMA.check_task_name(task_name text)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if task_name is null or octet_length(task_name) > 128
    or task_name !~ '^[A-Za-z0-9_][][A-Za-z0-9_<>/.:+-]*$' then
    perform :SCHEMA.raise_invalid('task_name', 'is not a name of a task: '
      || coalesce(left(task_name, 40), 'null'),
      '1..128 of letters, digits, _ - [ ] < > / . : +, the first a letter, digit or _');
  end if;
end;
$$;
comment on function :SCHEMA.check_task_name is
  'Raises HR007 invalid unless the name is that of a kind of job.';
revoke all on function :SCHEMA.check_task_name from public;
