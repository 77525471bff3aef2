create or replace function :SCHEMA.reconcile_charges(acks :SCHEMA.ack_input[], settled :SCHEMA.settled_job[])
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now bigint;
begin
  perform from :SCHEMA.rate_class r
  where r.name in (
    select n from unnest(settled) s
    join unnest(acks) a on a.ord = s.ord and a.actual_weight is not null
    cross join unnest(s.charged) n)
  order by r.name
  for update;
  if not found then
    return;
  end if;
  v_now := :SCHEMA.now_ms();
  update :SCHEMA.rate_class r
  set level = least(r.burst * r.window_ms::numeric,
        case when r.paused then r.level
        else least(r.burst * r.window_ms::numeric,
          r.level + greatest(0, v_now - r.refilled_at_ms) * r.limit_per_window::numeric) end
        + d.unused * r.window_ms),
    refilled_at_ms = greatest(r.refilled_at_ms, v_now)
  from (
    select n.name, sum(s.weight::bigint - a.actual_weight) as unused
    from unnest(settled) s
    join unnest(acks) a on a.ord = s.ord and a.actual_weight is not null
    cross join unnest(s.charged) n(name)
    group by n.name) d
  where r.name = d.name;
end;
$$;
comment on function :SCHEMA.reconcile_charges is
  'Gives back, or takes, what an attempt really cost against the weight charged at its admission, in each '
  'class that was charged: under the fence of the ack, so exactly once.';
revoke all on function :SCHEMA.reconcile_charges from public;
