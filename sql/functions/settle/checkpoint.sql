create or replace function :SCHEMA.checkpoint(
  job_id text, lease_id text, fence bigint, checkpoint json, cursor bytea default null
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_checkpoint jsonb;
  v_key bigint;
begin
  if json_typeof(checkpoint.checkpoint) is distinct from 'object' then
    perform :SCHEMA.raise_invalid('checkpoint', 'must be an object',
      'completed, in_progress, version and the like');
  elsif octet_length(checkpoint.checkpoint::text) > 1048576 then
    perform :SCHEMA.raise_invalid('checkpoint', 'is too long', 'at most 1048576 bytes');
  elsif octet_length(checkpoint.cursor) > 1048576 then
    perform :SCHEMA.raise_invalid('cursor', 'is too long', 'at most 1048576 bytes');
  end if;
  begin
    v_checkpoint := checkpoint.checkpoint::jsonb;
  exception when data_exception then
    perform :SCHEMA.raise_invalid('checkpoint', sqlerrm,
      'JSON without U+0000 and without numbers beyond all bounds');
  end;
  v_key := :SCHEMA.hold(checkpoint.job_id, checkpoint.lease_id, checkpoint.fence);
  insert into :SCHEMA.job_extra as x (key, checkpoint, cursor)
  values (v_key, v_checkpoint, checkpoint.cursor)
  on conflict (key) do update set checkpoint = excluded.checkpoint, cursor = excluded.cursor;
end;
$$;
comment on function :SCHEMA.checkpoint is
  'Stores how far a job has come, before the side effect that it announces. Object keys that Headrace reads: '
  'completed (list of step names), in_progress (a step), crashes (counted by reclaim_expired). Errors: HR005 '
  'lease_rejected: stop now; HR007.';
revoke all on function :SCHEMA.checkpoint from public;
