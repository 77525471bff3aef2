create or replace function :SCHEMA.first_fault(jobs :SCHEMA.job_input[], out ord integer, out fault text)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  select f.ord, f.fault
  into ord, fault
  from (
    select j.ord, case
      when j.fault is not null then j.fault
      -- A bound such as {0,127} in the pattern would cost ten times as much.
      when j.kind is null or octet_length(j.kind) > 128
        or j.kind !~ '^[A-Za-z0-9_][][A-Za-z0-9_<>/.:+-]*$' then
        'kind|is not a name of a task: ' || coalesce(translate(left(j.kind, 40), '|', '/'), 'null')
        || '|1..128 of letters, digits, _ - [ ] < > / . : +, the first a letter, digit or _'
      when j.id is not null and octet_length(j.id) not between 1 and 255
        then 'id|has a wrong length|1..255 bytes'
      when octet_length(j.payload) > 1048576 then
        'payload|is too long: ' || octet_length(j.payload) || ' bytes|at most 1048576 bytes'
      when octet_length(j.queue) > 255 then 'queue|is too long|at most 255 bytes'
      when octet_length(j.partition_key) > 255 then 'partition_key|is too long|at most 255 bytes'
      when cardinality(j.rate_classes) > 4 then 'rate_classes|has too many|at most 4'
      when j.rate_classes is not null and exists (select from unnest(j.rate_classes) c where c is null
        or octet_length(c) not between 1 and 255) then
        'rate_classes|has a name of a wrong length|1..255 bytes each'
      when octet_length(j.sticky_worker) > 255 then 'sticky_worker|is too long|at most 255 bytes'
      when octet_length(j.fingerprint) not between 1 and 255
        then 'fingerprint|has a wrong length|1..255 bytes'
      when j.weight < 1 then 'weight|is too small: ' || j.weight || '|at least 1'
      when j.max_attempts < 1 then 'max_attempts|is too small: ' || j.max_attempts || '|at least 1'
      when j.schema_version < 1 then 'schema_version|is too small: ' || j.schema_version || '|at least 1'
      when j.delay_ms not between 0 and 315576000000000 then 'delay_ms|is out of bounds|0..10000 years'
      when j.scheduled_at_ms not between 0 and 315576000000000 then
        'scheduled_at_ms|is out of bounds|0..315576000000000'
      when j.timeout_ms not between 0 and 315576000000000 then 'timeout_ms|is out of bounds|0..10000 years'
      when j.deadline_ms not between 0 and 315576000000000
        then 'deadline_ms|is out of bounds|0..315576000000000'
      when j.retention_ms not between 0 and 315576000000000
        then 'retention_ms|is out of bounds|0..10000 years'
      when j.unique_window_ms not between 0 and 315576000000000
        then 'unique_window_ms|is out of bounds|0..10000 years'
      when j.unique_debounce_ms not between 0 and 315576000000000 then
        'unique_debounce_ms|is out of bounds|0..10000 years'
      when r.field is not null and j.unique_key is null then
        r.field || '|needs a unique_key|a unique_key without a window'
      when r.field is not null and j.unique_window_ms is not null then
        r.field || '|does not go with unique_window_ms|a unique_key without a window'
      when r.field is not null and cardinality(jobs) > 1 then r.field || '|needs a batch of one job|1 job'
      when j.unique_replace is not null and exists (select from unnest(j.unique_replace) f
          where f is null or f not in ('payload', 'scheduled_at', 'priority', 'max_attempts')) then
        'unique_replace|has an unknown field|payload, scheduled_at, priority, max_attempts'
      when j.unique_debounce_ms is not null and (j.scheduled_at_ms is not null or j.delay_ms is not null) then
        'unique_debounce_ms|stands beside a start time|one of the two'
      when j.pending and (j.scheduled_at_ms is not null or j.delay_ms is not null
        or j.unique_debounce_ms is not null) then
        'pending|does not go with a start time|one of the two'
      when (j.periodic_schedule_id is null) <> (j.periodic_tick_ms is null) then
        'periodic_schedule_id|needs periodic_tick_ms, and the other way round|both or neither'
      when octet_length(j.periodic_schedule_id) not between 1 and 255 then
        'periodic_schedule_id|has a wrong length|1..255 bytes'
      when j.periodic_tick_ms < 1 then 'periodic_tick_ms|is too small|at least 1'
      when j.tags is not null and (cardinality(j.tags) > 32 or exists (
          select from unnest(j.tags) t where t is null or t !~ '^[\x20-\x7e]+$' or length(t) > 64)) then
        'tags|has too many or a bad one|at most 32, each 1..64 ASCII characters'
      when j.tags is not null and (select count(distinct t) from unnest(j.tags) t) <> cardinality(j.tags)
        then 'tags|names one twice|each once'
      when j.headers is not null and ((select count(*) from jsonb_object_keys(j.headers)) > 128
          or octet_length(j.headers::text) > 65536) then
        'headers|are too many or too long|at most 128 entries and 64 KiB'
      when j.headers is not null and exists (select from jsonb_object_keys(j.headers) h
        where starts_with(h, 'headrace-')) then
        'headers|have a name that begins with headrace-, which the store itself gives|other names'
    end as fault
    from unnest(jobs) j
    cross join lateral (select case
        when j.unique_replace is not null then 'unique_replace'
        when j.unique_debounce_ms is not null then 'unique_debounce_ms'
      end as field) r
  ) f
  where f.fault is not null
  order by f.ord
  limit 1;
end;
$$;
comment on function :SCHEMA.first_fault is
  'The first job outside the limits, and what is wrong with it: field, fault and bound, parted by |.';
revoke all on function :SCHEMA.first_fault from public;
