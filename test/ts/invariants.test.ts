import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "./support/database.js";
import { admitOne, enqueue, jobIn } from "./support/jobs.js";

const invariants = suite("verify_invariants");
const database = await testDatabase({ invariants: false });
const { query } = database;
await query("select :SCHEMA.set_transition_guard(false)");

/** Breaks something in a transaction, and answers with what is objected to. */
async function planted(...damage: readonly string[]): Promise<string[]> {
  const client = await database.connect();
  await client.query("begin");
  try {
    for (const text of damage) {
      const { rowCount } = await client.query(database.sql(text));
      assert.ok((rowCount ?? 0) > 0, `${text} did no damage`);
    }
    const { rows } = await client.query(
      database.sql("select distinct invariant from :SCHEMA.verify_invariants()"),
    );
    return rows.map(({ invariant }) => String(invariant)).sort();
  } finally {
    await client.query("rollback");
    await client.end();
  }
}

invariants.before(async () => {
  for (const state of [
    "pending",
    "scheduled",
    "retryable",
    "completed",
    "archived",
    "cancelled",
    "undecodable",
  ]) {
    await jobIn(database, state, { payload: { state } });
  }
  await enqueue(database, { queue: "line" });
  await enqueue(database, { queue: "run" });
  const { id, lease_id, fence } = await admitOne(database, { queue: "run" });
  await query("select :SCHEMA.checkpoint($1, $2, $3, '{}')", [id, lease_id, fence]);
  await query("select :SCHEMA.upsert_schedule('daily', '@daily', 'k')");
  await query("select :SCHEMA.roll_up_tallies(10000)");
});

invariants("a sound install has no row", async () => {
  assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);
});

const running = "(select key from :SCHEMA.job where queue = 'run')";
for (const [expected, ...damage] of [
  ["a running job has a lease", "delete from :SCHEMA.lease"],
  ["a running job has a lease", "update :SCHEMA.lease set keys = '{}'"],
  [
    "a job that runs under a ceiling holds a slot of it",
    "insert into :SCHEMA.concurrency_limit values ('l', 'run', 1, 'queue')",
  ],
  ["a job in line has a lane", "delete from :SCHEMA.lane where queue = 'line'"],
  [
    "the gate looks at every job in line",
    "update :SCHEMA.lane set from_ms = 4000000000000, from_key = 9 where queue = 'line'",
  ],
  [
    "the depth of a queue is the number of its unfinished jobs",
    "update :SCHEMA.queue_depth set depth = depth + 1 where queue = 'line'",
  ],
  [
    "the depth of a queue is the number of its unfinished jobs",
    "delete from :SCHEMA.job where queue = 'line'",
  ],
  ["a job that does not run holds nothing", "update :SCHEMA.job set claimed_at_ms = 1 where queue = 'line'"],
  [
    "a job that does not run holds nothing",
    "update :SCHEMA.job set charged = '{a}' where state = 'archived'",
  ],
  ["a running job was claimed", `update :SCHEMA.job set fence = 0 where key = ${running}`],
  ["a running job was claimed", `update :SCHEMA.job set claimed_at_ms = null where key = ${running}`],
  [
    "a slot of a ceiling belongs to a running job",
    "insert into :SCHEMA.lease (lease_id, worker, queue, partition_key, claimed_at_ms, expires_at_ms, keys) " +
      "values ('x', 'w', 'line', '', 1, 4000000000000, (select array_agg(key) from :SCHEMA.job where queue = 'line'))",
  ],
  ["a finished job has an end", "update :SCHEMA.job set evict_at_ms = null where state = 'cancelled'"],
  ["what a job left belongs to a job", "insert into :SCHEMA.job_extra (key) values (9000000000000)"],
  [
    "a schedule that is due is looked at",
    "insert into :SCHEMA.duty (name, holder, expires_at_ms, ran_at_ms) values ('tick_schedules', 'h', 1, :SCHEMA.now_ms())",
    "update :SCHEMA.schedule set next_run_ms = 1000",
  ],
  [
    "a schedule that failed is tried again soon",
    "update :SCHEMA.schedule set retry_at_ms = :SCHEMA.now_ms() + 3600000",
  ],
  ["no depth is negative", "insert into :SCHEMA.queue_depth (queue, depth) values ('gone', -1)"],
] as const) {
  invariants(`finds: ${expected} (${damage[0]?.slice(0, 50)})`, async () => {
    const found = await planted(...damage);
    assert.ok(found.includes(expected), `found only: ${found.join(", ")}`);
  });
}

invariants("finds a missing place in the archive", async () => {
  const client = await database.connect();
  await client.query("begin");
  await client.query(database.sql("select :SCHEMA.set_archive_policy('q', 1000)"));
  assert.equal((await client.query(database.sql("select * from :SCHEMA.verify_invariants()"))).rows, []);
  await client.query(database.sql("insert into :SCHEMA.test_clock values (true, 400 * 86400000::bigint)"));
  const { rows } = await client.query(database.sql("select invariant from :SCHEMA.verify_invariants()"));
  await client.query("rollback");
  assert.equal(rows, [{ invariant: "the archive has a place for evicted jobs" }]);
});

invariants("the constraints refuse the rest", async () => {
  for (const damage of [
    "update :SCHEMA.job set lease_no = null where state = 'running'",
    "update :SCHEMA.job set state = 'completed' where state = 'available'",
    "update :SCHEMA.job set periodic_tick_ms = 1",
    "update :SCHEMA.job set max_attempts = 0",
    "insert into :SCHEMA.operation (operation_id, action, selector, dry_run, status, estimated, estimate_capped, upto_key, " +
      "before_key, created_at_ms, updated_at_ms) values ('x', 'retry', '{}', false, 'completed', 0, false, 0, 0, 0, 0)",
  ]) {
    const code = await query(damage).then(
      () => "ok",
      (error: { code?: string }) => error.code,
    );
    assert.is(code, "23514", damage);
  }
});

invariants("the views read well", async () => {
  const jobs = await query("select * from :SCHEMA.jobs");
  assert.is(jobs.length, 9);
  assert.ok(jobs.every((row) => row["enqueued_at"] instanceof Date && !("payload" in row)));
  const [queue] = await query("select * from :SCHEMA.queues where queue = 'run'");
  assert.equal([queue?.["depth"], queue?.["paused"], queue?.["limit"]], ["1", false, null]);
  await query("select :SCHEMA.heartbeat_worker('w1', host => 'h', pid => 7)");
  const [worker] = await query("select * from :SCHEMA.workers");
  assert.equal([worker?.["worker_id"], worker?.["host"]], ["w1", "h"]);
  assert.ok(worker?.["heartbeat_at"] instanceof Date);
});

invariants.after(() => database.close());
invariants.run();
