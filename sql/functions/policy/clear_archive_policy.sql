create or replace function :SCHEMA.clear_archive_policy(queue text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from :SCHEMA.archive_policy p where p.queue = :SCHEMA.queue_name(clear_archive_policy.queue);
end;
$$;
comment on function :SCHEMA.clear_archive_policy is
  'Has evicted jobs of a queue no longer copied to the archive; what is there stays its time. Errors: HR007.';
revoke all on function :SCHEMA.clear_archive_policy from public;
