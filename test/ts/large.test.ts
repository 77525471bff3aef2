// timeout: 300 s
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "./support/database.js";

/**
 * Reads and sweeps over a large table touch a bounded number of buffers, whatever the statistics say. HEADRACE_TEST_ROWS
 * says how large; the bounds are the same for any size.
 */
const rows = Number(process.env["HEADRACE_TEST_ROWS"] ?? 120_000);
const large = suite(`inspection over ${rows} jobs`);
const database = await testDatabase({ invariants: false });
const { query } = database;

const load = async (count: number, fields: Record<string, string>): Promise<void> => {
  await query(
    `insert into :SCHEMA.job (${Object.keys(fields).join(", ")}, payload) ` +
      `select ${Object.values(fields).join(", ")}, '\\x7b7d' from generate_series(1, ${count}) n`,
  );
};
const base = { enqueued_at_ms: "1", scheduled_at_ms: "1000 + n", partition_key: "'p' || n % 50" };
const finished = { ...base, finalized_at_ms: "1", evict_at_ms: "4000000000000" };
await query("select :SCHEMA.set_transition_guard(false)");
await query("alter table :SCHEMA.job set (autovacuum_enabled = off)");
// The rare ones first, so that everything else is newer: the worst place for a list that goes from new to old.
await load(5, {
  ...finished,
  state: "'archived'",
  queue: "'big'",
  kind: "'rare:archived'",
  tags: "array['rare']",
});
await load(5, {
  ...base,
  state: "'available'",
  queue: "'small'",
  kind: "'rare:available'",
  rate_classes: "array['rare']",
});
await load(5, { ...base, state: "'pending'", queue: "'big'", kind: "'rare:pending'", priority: "77" });
await load(rows / 2, {
  ...finished,
  state: "'completed'",
  queue: "'big'",
  kind: "'common:' || n % 7",
  tags: "case when n % 4 = 0 then array['often'] end",
});
await load(rows / 4, {
  ...base,
  state: "'scheduled'",
  queue: "'big'",
  kind: "'common:x'",
  scheduled_at_ms: "4000000000000 + n",
});
await load(rows / 4, { ...base, state: "'available'", queue: "'line'", kind: "'common:y'" });
await query(
  "insert into :SCHEMA.lane (queue, partition_key, sticky_worker, class_key, priority) " +
    "select distinct queue, partition_key, '', '', 0 from :SCHEMA.job where state = 'available'",
);
await query(
  "insert into :SCHEMA.lane (queue, partition_key, sticky_worker, class_key, priority) " +
    "select 'classes', '', '', '=c' || n, 0 from generate_series(1, 2000) n",
);
await query("select :SCHEMA.upsert_rate_class('c' || n, 10) from generate_series(1, 2000) n");
await query(
  "insert into :SCHEMA.queue_depth (queue, depth) select queue, count(*) from :SCHEMA.job where stage < 2 group by 1",
);

await query("select id from :SCHEMA.admit('w', '{line}', 3, 3600000)");

const touchedBuffers = async (text: string, values: unknown[]): Promise<number> => {
  const [plan] = await query(`explain (analyze, buffers, format json) ${text}`, values);
  const top = (plan?.["QUERY PLAN"] as { Plan: Record<string, number> }[])[0]?.Plan ?? {};
  return (top["Shared Hit Blocks"] ?? 0) + (top["Shared Read Blocks"] ?? 0);
};
/**
 * Asked a second time where it is too much: a session that has to read the catalog again, since its connection is new or
 * others on the server have changed so much that it was told to forget all, touches 2,000 more, once.
 */
const buffers = async (most: number, text: string, values: unknown[] = []): Promise<number> => {
  const touched = await touchedBuffers(text, values);
  return touched <= most ? touched : touchedBuffers(text, values);
};
const list = "select * from :SCHEMA.list_jobs($1, $2, 50)";

/** How many calls may be needed, and what one of them may touch. */
const filters: readonly [filter: Record<string, unknown>, found: number, calls: number, most: number][] = [
  [{ state: "archived" }, 5, 1, 3000],
  [{ state: "archived", queue: "big" }, 5, 1, 3000],
  [{ state: "archived", kind: "rare:archived" }, 5, 1, 1000],
  [{ state: "pending" }, 5, 1, 3000],
  [{ state: "pending", queue: "big", priority: 77 }, 5, 1, 3000],
  [{ queue: "small" }, 5, 1, 3000],
  [{ queue: "small", state: "available" }, 5, 1, 3000],
  [{ queue: "small", rate_class: "rare" }, 5, 1, 3000],
  [{ tags_all: ["rare"] }, 5, 1, 1000],
  [{ state: "running" }, 3, 1, 1000],
  [{ state: "running", queue: "line" }, 3, 1, 1000],
  [{ queue: "nothing" }, 0, 1, 1000],
  [{}, 50, 1, 6000],
  [{ state: "completed" }, 50, 1, 6000],
  [{ state: "scheduled", queue: "big" }, 50, 1, 6000],
  [{ state: "available" }, 50, 1, 40_000],
  [{ queue: "line", partition_key: "p7" }, 50, 1, 40_000],
  [{ tags_any: ["often"] }, 50, rows / 2000, 40_000],
  [{ kind: "common:3" }, 50, rows / 2000, 40_000],
  [{ kind_prefix: "rare:" }, 15, rows / 2000, 40_000],
  [{ priority: 77 }, 5, rows / 2000, 40_000],
  [{ rate_class: "rare" }, 5, rows / 2000, 40_000],
  [{ partition_key: "p49", state: "completed" }, 50, 1, 40_000],
  [{ fingerprint: "none" }, 0, rows / 2000, 60_000],
];

async function walk(): Promise<void> {
  for (const [filter, expected, calls, most] of filters) {
    const name = JSON.stringify(filter);
    const found: Record<string, unknown>[] = [];
    let cursor: unknown = null;
    let called = 0;
    do {
      const text = JSON.stringify(filter);
      if (called < 3) {
        const touched = await buffers(most, list, [text, cursor]);
        assert.ok(touched <= most, `${name} touched ${touched} buffers, call ${called}`);
      }
      const page = await query(list, [text, cursor]);
      called++;
      found.push(...page.filter(({ id }) => id !== null));
      const last = page.at(-1);
      cursor = page.length === 50 || last?.["id"] === null ? last?.["cursor"] : null;
    } while (cursor !== null && found.length < expected);
    assert.is(Math.min(found.length, 50), expected, name);
    assert.ok(called <= Math.max(1, calls), `${name} needed ${called} calls`);
    const keys = found.map(({ cursor: key }) => Number(key));
    assert.equal(
      keys,
      [...keys].sort((a, b) => b - a),
      `${name} in order`,
    );
  }
}

const others: readonly [text: string, most: number][] = [
  ["select * from :SCHEMA.counts()", 250_000],
  ["select * from :SCHEMA.counts('small')", 3000],
  ["select * from :SCHEMA.queue_stats()", 100_000],
  ["select * from :SCHEMA.metrics()", 100_000],
  ["select * from :SCHEMA.distinct_kinds(1000)", 20_000],
  ["select * from :SCHEMA.distinct_kinds(1000, '{big,small}')", 20_000],
  ["select :SCHEMA.sample_queue_memory(100)", 10_000],
  ["select * from :SCHEMA.get_job('j0000000000000001')", 1000],
  ["select * from :SCHEMA.history('big', 0, 60000)", 1000],
  ["select * from :SCHEMA.rate_classes()", 30_000],
  ["select * from :SCHEMA.verify_invariants()", 300_000],
  ["select * from :SCHEMA.expire_deadlines(1000)", 1000],
  ["select * from :SCHEMA.reclaim_expired(1000)", 1000],
  ["select :SCHEMA.promote_due(1000)", 1000],
  ["select :SCHEMA.evict_retained(1000)", 1000],
];

async function sweepsAndNumbers(): Promise<void> {
  for (const [text, most] of others) {
    const touched = await buffers(most, text);
    assert.ok(touched <= most, `${text} touched ${touched} buffers`);
  }
}

large("any list, never analysed (R-81)", walk);
large("numbers and sweeps, never analysed (R-81)", sweepsAndNumbers);
large("counts are exact below the cap and say where they are not", async () => {
  const counted = await query("select * from :SCHEMA.counts()");
  const of = (state: string): unknown[] =>
    counted
      .filter((row) => row["state"] === state)
      .map(({ jobs, approximate }) => [Number(jobs), approximate])[0] ?? [];
  assert.equal(of("archived"), [5, false]);
  assert.equal(of("pending"), [5, false]);
  assert.equal(of("completed"), [50_000, true]);
});
large("any list, numbers and sweeps, analysed", async () => {
  await query("vacuum analyze :SCHEMA.job");
  await walk();
  await sweepsAndNumbers();
});

large.after(() => database.close());
large.run();
