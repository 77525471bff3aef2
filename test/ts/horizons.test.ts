// alone
// timeout: 300 s
import { readFile } from "node:fs/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "./support/database.js";
import { ack, admit, enqueueAll, moveClock } from "./support/jobs.js";

const horizons = suite("nothing grows for ever");
const database = await testDatabase();
const { query } = database;
const day = 86_400_000;

const tables = (
  await query(
    "select c.relname as name from pg_class c where c.relnamespace = ':SCHEMA'::regnamespace and c.relkind in ('r', 'p') " +
      "and not c.relispartition order by 1",
  )
).map(({ name }) => String(name));

/** Written by hand or by migrations only. */
const constant = new Set([
  "transition",
  "schema_migration",
  "test_clock",
  "granted",
  "archive_policy",
  "walk",
]);

async function sizes(): Promise<Map<string, number>> {
  const counted = new Map<string, number>();
  for (const table of tables) {
    const [row] = await query(`select count(*)::int as n from :SCHEMA.${table}`);
    counted.set(table, Number(row?.["n"]));
  }
  return counted;
}

async function duties(): Promise<void> {
  for (let run = 0; run < 30; run++) {
    const rows = await query("select * from :SCHEMA.run_duties('h', max_rows => 10000)");
    assert.equal(
      rows.filter(({ error }) => error !== null),
      [],
    );
    if (rows.every(({ did }) => Number(did) === 0)) return;
  }
}

/** Partitions that were seen to be owed something. */
let owed = 0;

async function oneDay(n: number): Promise<void> {
  const queue = `q${n}`;
  await query("select :SCHEMA.heartbeat_worker($1 || i) from generate_series(1, 5) i", [`w${n}-`]);
  await query("select :SCHEMA.claim_effect($1 || i) from generate_series(1, 5) i", [`e${n}-`]);
  await query("select :SCHEMA.declare_sleep($1, '{}', 1000)", [`s${n}`]);
  await query("select :SCHEMA.claim_duty($1, 'h', 1000)", [`d${n}`]);
  await query("select :SCHEMA.create_operation('delete', $1)", [JSON.stringify({ queue: `nothing${n}` })]);
  await query("select :SCHEMA.set_archive_policy('kept', $1)", [5 * day]);
  await enqueueAll(database, [
    ...Array.from({ length: 20 }, (_, i) => ({ queue, partition_key: `p${n}-${i % 10}` })),
    ...Array.from({ length: 4 }, (_, i) => ({
      queue: "kept",
      partition_key: `p${n}-${i}`,
      retention_ms: day,
    })),
    { queue: "kept", unique_key: `u${n}`, unique_window_ms: day },
  ]);
  // With a quantum, the capacity ends in the middle of a partition's turn.
  const few = await query("select id, lease_id, fence from :SCHEMA.admit('w', array[$1], 3, 60000, 2)", [
    queue,
  ]);
  owed += Number((await query("select count(*) as n from :SCHEMA.partition"))[0]?.["n"]);
  for (const claim of few) await ack(database, claim as never, "rate_limited");
  for (const name of [queue, "kept"]) {
    const claims = await admit(database, { queue: name, worker: `w${n}-1`, capacity: 100 });
    for (const [at, claim] of claims.entries()) {
      await ack(database, claim, ["success", "skip", "undecodable", "retry"][at % 4] ?? "success", {
        delayMs: 0,
      });
    }
    const again = await admit(database, { queue: name, capacity: 100 });
    for (const claim of again) await ack(database, claim, "success");
  }
  for (let visit = 0; visit < 5; visit++) {
    await duties();
    await moveClock(database, 900_000);
  }
  await moveClock(database, day - 5 * 900_000);
}

horizons("the tables of a busy install stay as large as they are (R-83)", async () => {
  const first = await sizes();
  const days = 40;
  let before = new Map<string, number>();
  const most = new Map<string, number>();
  for (let n = 0; n < days; n++) {
    await oneDay(n);
    if (n === 0 || n === 20)
      for (const [table, count] of await sizes()) most.set(table, Math.max(count, most.get(table) ?? 0));
    if (n === days - 8) before = await sizes();
  }
  const after = await sizes();
  for (const table of tables) {
    if (constant.has(table)) continue;
    const [then = 0, now = 0] = [before.get(table), after.get(table)];
    assert.ok(now <= then * 1.05 + 3, `${table} grew from ${then} to ${now} in a week`);
  }
  // It was busy indeed.
  assert.ok(owed > 0);
  for (const table of ["worker", "effect", "operation", "attempt", "job", "queue_minute", "job_archive"]) {
    assert.ok((most.get(table) ?? 0) > (first.get(table) ?? 0), `${table} was not used`);
  }
});

horizons("everything ends when nothing happens any more (R-83)", async () => {
  await query("select :SCHEMA.clear_archive_policy('kept')");
  for (let step = 0; step < 12; step++) {
    await moveClock(database, step < 6 ? 40 * day : 900_000);
    await duties();
  }
  const left = [...(await sizes())].filter(([table, count]) => count > 0 && !constant.has(table));
  // The duties themselves ran just now.
  assert.equal(left.map(([table]) => table).sort(), ["duty"]);
});

horizons("docs/operations.md names each table with its horizon", async () => {
  const text = await readFile(new URL("../../docs/operations.md", import.meta.url), "utf8");
  for (const table of tables) assert.match(text, new RegExp(`^\\| \`${table}\``, "m"), `${table} is missing`);
});

horizons.after(() => database.close());
horizons.run();
