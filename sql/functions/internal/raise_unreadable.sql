create or replace function :SCHEMA.raise_unreadable(
  field text, value json, integers text[], bigints text[], numbers text[], place text default ''
)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  c_whole text := '^-?\d{1,19}$';
  v_field text;
  v_problem text;
  v_text text;
  v_most numeric;
begin
  begin
    perform value::jsonb;
  exception when data_exception then
    v_problem := sqlerrm;
    -- With its escapes masked it can be taken apart; whichever member can't be read with them is the one.
    for v_field, v_text in
      select e.key, regexp_replace(e.value::text, '<u\+([[:xdigit:]]{4})>', '\\u\1', 'g')
      from json_each(regexp_replace(replace(value::text, '\\', '//'), '\\u([[:xdigit:]]{4})', '<u+\1>',
        'g')::json) e
    loop
      begin
        perform v_text::jsonb;
      exception when data_exception then
        perform :SCHEMA.raise_invalid(left(v_field, 100), 'can''t be read: ' || sqlerrm || place,
          case
            when v_field = 'payload' then 'send a payload that is opaque (with U+0000, say) as payload_base64'
            else 'text without U+0000 or half of a pair of surrogates'
          end);
      end;
    end loop;
    perform :SCHEMA.raise_invalid(field, 'can''t be read: ' || v_problem || place,
      'text without U+0000 or half of a pair of surrogates');
  end;
  foreach v_field in array integers || bigints || numbers loop
    v_text := trim(both '"' from (value -> v_field)::text);
    continue when v_text is null or v_text = 'null';
    if v_field = any (numbers) then
      begin
        perform v_text::double precision;
      exception when data_exception then
        perform :SCHEMA.raise_invalid(v_field, 'is not a number: ' || left(v_text, 40) || place, 'a number');
      end;
    elsif v_text !~ c_whole then
      perform :SCHEMA.raise_invalid(v_field, 'is not a whole number: ' || left(v_text, 40) || place,
        case when v_field = any (integers) then '-2147483648..2147483647' else '-2^63..2^63-1' end);
    else
      v_most := case when v_field = any (integers) then 2147483647 else 9223372036854775807 end;
      if v_text::numeric not between - v_most - 1 and v_most then
        perform :SCHEMA.raise_invalid(v_field, 'is out of bounds: ' || v_text || place,
          case when v_field = any (integers) then '-2147483648..2147483647' else '-2^63..2^63-1' end);
      end if;
    end if;
  end loop;
end;
$$;
comment on function :SCHEMA.raise_unreadable is
  'Raises HR007 for the first member of an object that can''t be stored, or is not the number that it is to '
  'be; nothing where there is none. The slow second look after a failure. place follows the message; field '
  'is named where the name of a member can''t be told.';
revoke all on function :SCHEMA.raise_unreadable from public;
