create or replace function :SCHEMA.charge_classes(verdict :SCHEMA.verdict)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if verdict.spent is null then
    verdict.spent := array(
      select (select coalesce(sum(d.weight), 0) from unnest(verdict.demands) d
        where c.name = any (d.rate_classes))
      from unnest(verdict.charging) with ordinality c(name, place)
      order by c.place);
  end if;
  update :SCHEMA.rate_class r
  set level = least(r.burst * r.window_ms::numeric,
        r.level + greatest(0, verdict.at_ms - r.refilled_at_ms) * r.limit_per_window::numeric) - s.spent *
          r.window_ms,
    refilled_at_ms = greatest(r.refilled_at_ms, verdict.at_ms)
  from (select unnest(verdict.charging) as name, unnest(verdict.spent) as spent) s
  where r.name = s.name;
end;
$$;
comment on function :SCHEMA.charge_classes is
  'Takes the tokens of admitted jobs from their rate classes, which the caller has locked.';
revoke all on function :SCHEMA.charge_classes from public;
