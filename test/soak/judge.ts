import { readFile } from "node:fs/promises";
import type { TestDatabase } from "../ts/support/database.js";
import { brokenInvariants } from "../ts/support/invariants.js";
import { ceiling, effectsOf } from "./jobs.js";

/** Everything that is wrong in the end, in words; empty where nothing is. */
export async function judge(
  database: TestDatabase,
  ledger: string,
  mostRunning: ReadonlyMap<string, number>,
): Promise<string[]> {
  const complaints: string[] = [];
  const complain = (what: string, cases: readonly string[]): void => {
    if (cases.length > 0)
      complaints.push(`${what}: ${cases.length}, such as ${cases.slice(0, 5).join(", ")}`);
  };
  const acknowledged = new Set((await readFile(ledger, "utf8")).split("\n").filter(Boolean));

  const effects = await database.query<{ job: string; effect: string; times: number }>(
    "select job, effect, count(*)::int as times from soak_effect group by 1, 2",
  );
  const times = new Map(effects.map((row) => [`${row.job} ${row.effect}`, row.times]));
  const expected = [...acknowledged].flatMap((id) =>
    (effectsOf[id.split("-")[0]!] ?? []).map((effect) => `${id} ${effect}`),
  );
  complain(
    "effects lost",
    expected.filter((effect) => !times.has(effect)),
  );
  complain(
    "effects doubled",
    [...times].filter(([, n]) => n !== 1).map(([effect, n]) => `${effect} ${n} times`),
  );
  complain(
    "effects of jobs that nobody sent",
    [...times.keys()].filter((key) => !acknowledged.has(key.split(" ")[0]!)),
  );

  const orders = await database.query<{ job: string }>("select job from soak_order");
  const sent = [...acknowledged].filter((id) => id.startsWith("order-"));
  complain(
    "orders lost",
    sent.filter((id) => !orders.some(({ job }) => job === id)),
  );
  if (orders.length !== sent.length) complaints.push(`${orders.length} orders for ${sent.length} jobs`);

  const unended = await database.query<{ id: string; state: string }>(
    "select coalesce(id, key::text) as id, state::text from :SCHEMA.job where state <> 'completed'",
  );
  complain(
    "jobs that have not been done",
    unended.map(({ id, state }) => `${id} (${state})`),
  );
  const leases = await database.query<{ lease_no: string }>("select lease_no from :SCHEMA.lease");
  complain(
    "leases of nobody",
    leases.map(({ lease_no }) => lease_no),
  );
  complain("broken invariants", await brokenInvariants(database.pool));
  complain(
    "partitions above their ceiling",
    [...mostRunning]
      .filter(([, most]) => most > ceiling)
      .map(([partition, most]) => `${partition} ran ${most}`),
  );
  return complaints;
}
