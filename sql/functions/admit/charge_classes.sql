create or replace function :SCHEMA.charge_classes(verdict :SCHEMA.verdict)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now bigint := :SCHEMA.now_ms();
begin
  update :SCHEMA.rate_class r
  set level = least(r.burst * r.window_ms::numeric,
        r.level + greatest(0, v_now - r.refilled_at_ms) * r.limit_per_window::numeric) - s.spent *
          r.window_ms,
    refilled_at_ms = greatest(r.refilled_at_ms, v_now)
  from (
    select n.name, sum(d.weight) as spent
    from unnest(verdict.demands) d
    cross join unnest(d.rate_classes) n(name)
    group by n.name) s
  where r.name = s.name and r.name = any (verdict.charging);
end;
$$;
comment on function :SCHEMA.charge_classes is
  'Takes the tokens of admitted jobs from their rate classes, which the caller has locked.';
revoke all on function :SCHEMA.charge_classes from public;
