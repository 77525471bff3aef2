create or replace function :SCHEMA.pass_over_busy(verdict :SCHEMA.verdict, lanes :SCHEMA.lane_start[])
returns :SCHEMA.verdict
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_classes text[];
  v_queues text[];
  v_busy bigint[];
begin
  v_classes := array(
    select r.name from :SCHEMA.rate_class r
    where r.name in (select n from unnest(verdict.demands) d cross join unnest(d.rate_classes) n)
    for update skip locked);
  v_queues := array(
    select m.queue from :SCHEMA.concurrency_limit m
    where m.queue in (select d.queue from unnest(verdict.demands) d)
    for update skip locked);
  v_busy := array(
    select k from unnest(verdict.demands) d cross join unnest(d.keys) k
    where exists (
      select from :SCHEMA.rate_class r where r.name = any (d.rate_classes) and r.name <> all (v_classes)));
  if v_busy <> '{}' then
    verdict := :SCHEMA.refuse(verdict, lanes, v_busy, 'rate_class', true);
  end if;
  v_busy := array(
    select k from unnest(verdict.demands) d cross join unnest(d.keys) k
    where exists (
      select from :SCHEMA.concurrency_limit m where m.queue = d.queue and m.queue <> all (v_queues)));
  if v_busy <> '{}' then
    verdict := :SCHEMA.refuse(verdict, lanes, v_busy, 'concurrency_limit', true);
  end if;
  return verdict;
end;
$$;
comment on function :SCHEMA.pass_over_busy is
  'Holds back drawn jobs whose rate class or ceiling another call has locked: for the rounds after the first '
  'of a call, which already holds such locks and so must not wait for more. The next call finds them.';
revoke all on function :SCHEMA.pass_over_busy from public;
