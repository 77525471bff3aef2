create or replace function :SCHEMA.cut_logs(logs jsonb)
returns jsonb
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if logs is null or logs in ('null', '[]') then
    return null;
  elsif jsonb_typeof(logs) <> 'array' then
    logs := jsonb_build_array(logs);
  end if;
  return (
    select jsonb_agg(
      case when octet_length(e.entry::text) <= 2048 then e.entry
      else to_jsonb(:SCHEMA.cut_text(case when jsonb_typeof(e.entry) = 'string' then e.entry #>> '{}'
        else e.entry::text end, 2048))
      end order by e.n)
    from jsonb_array_elements(logs) with ordinality e(entry, n)
    where e.n > jsonb_array_length(logs) - 100);
end;
$$;
comment on function :SCHEMA.cut_logs is
  'The last 100 entries of an attempt''s log, each cut to 2 KiB; null where there is none.';
revoke all on function :SCHEMA.cut_logs from public;
