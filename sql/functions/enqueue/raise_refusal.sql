create or replace function :SCHEMA.raise_refusal(placed :SCHEMA.placed_job[])
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_refused :SCHEMA.placed_job;
begin
  select * into v_refused
  from unnest(placed) p
  where p.disposition in ('duplicate', 'id_conflict', 'quarantined', 'backpressure')
  order by p.ord
  limit 1;
  case v_refused.disposition
    when 'duplicate' then
      perform :SCHEMA.raise_error('HR001', 'a job with this unique key exists', jsonb_build_object(
        'existing_id', v_refused.existing_id, 'replaced', v_refused.replaced)
          || coalesce(v_refused.detail, '{}'));
    when 'id_conflict' then
      perform :SCHEMA.raise_error('HR002', 'the id belongs to a job with other content', v_refused.detail);
    when 'quarantined' then
      perform :SCHEMA.raise_error('HR003', 'the content is quarantined', v_refused.detail,
        'see quarantine_list and quarantine_release');
    when 'backpressure' then
      perform :SCHEMA.raise_error('HR004', 'the queue is at its limit', v_refused.detail,
        'try again when jobs have finished');
  end case;
end;
$$;
comment on function :SCHEMA.raise_refusal is 'Raises HR001 to HR004 for the first refused job of a batch.';
revoke all on function :SCHEMA.raise_refusal from public;
