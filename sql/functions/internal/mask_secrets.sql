create or replace function :SCHEMA.mask_secrets(value text)
returns text
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  c_key text := '((?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key)'
    '[\\"'']*[[:space:]]*[=:][[:space:]]*)';
  c_value text := '[^][:space:]\\"'',;&)}]+';
begin
  -- The password of an URL may itself hold / ? #: all up to the last @ goes.
  value := regexp_replace(value, '([a-z][a-z0-9+.-]*://)[^[:space:]"''<>]*@', '\1***@', 'gi');
  value := regexp_replace(value, '(authorization[\\"'']*[[:space:]]*[=:][[:space:]]*[\\"'']*)'
    || '(?:(?:basic|bearer|digest|negotiate|token)[[:space:]]+)?' || c_value, '\1***', 'gi');
  value := regexp_replace(value, '(\mbearer[[:space:]]+)' || c_value, '\1***', 'gi');
  value := regexp_replace(value, c_key || '(?:"(?:[^"\\]|\\.)*"|''[^'']*'')', '\1***', 'gi');
  return regexp_replace(value, c_key || '([\\"'']*)' || c_value, '\1\2***', 'gi');
end;
$$;
comment on function :SCHEMA.mask_secrets is
  'A text for people without what looks like a secret in it: the user and password of URLs, and the values '
  'behind password, secret, token, API key, bearer and authorization, each up to where it ends.';
revoke all on function :SCHEMA.mask_secrets from public;
