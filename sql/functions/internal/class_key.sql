create or replace function :SCHEMA.class_key(rate_classes text[])
returns text
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return case coalesce(cardinality(rate_classes), 0)
    when 0 then ''
    when 1 then '=' || rate_classes[1]
    else to_jsonb(rate_classes)::text
  end;
end;
$$;
comment on function :SCHEMA.class_key is
  'The rate classes of a job, sorted as they are stored, as one text that no other set has.';
revoke all on function :SCHEMA.class_key from public;
