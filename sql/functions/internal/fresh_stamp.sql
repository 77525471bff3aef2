create or replace function :SCHEMA.fresh_stamp()
returns xid8
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- The xmax of a snapshot is only one beyond the youngest transaction that has ended; one that is younger
  -- and still open would not be waited for. So a transaction younger than all takes its number here, and
  -- ends.
  begin
    perform pg_logical_emit_message(true, 'headrace', '');
    perform :SCHEMA.raise_error('HR000', 'a number was taken');
  exception when sqlstate 'HR000' then
    null;
  end;
  return pg_snapshot_xmax(pg_current_snapshot());
end;
$$;
comment on function :SCHEMA.fresh_stamp is
  'A number beyond those of all transactions that have begun to write: once the oldest that is open has '
  'reached it, they have ended.';
revoke all on function :SCHEMA.fresh_stamp from public;
