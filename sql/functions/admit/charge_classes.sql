create or replace function :SCHEMA.charge_classes(verdict :SCHEMA.verdict)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update :SCHEMA.rate_class r
  set level = least(r.burst * r.window_ms::numeric,
        r.level + greatest(0, verdict.at_ms - r.refilled_at_ms) * r.limit_per_window::numeric) - s.spent *
          r.window_ms,
    refilled_at_ms = greatest(r.refilled_at_ms, verdict.at_ms)
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
