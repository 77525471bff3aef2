import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, StoreError } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";

const policies = suite("the gate's policies through the store");
const database = await testDatabase();
const store = new PgStore(database.pool, { schema: database.schema });
policies.after(() => database.close());

const codeOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
  } catch (error) {
    if (error instanceof StoreError) return error.code;
    throw error;
  }
  return "nothing was thrown";
};

policies("rate classes", async () => {
  await store.upsertRateClass({ name: "smtp", limitPerWindow: 2, windowMs: 60_000, burst: 3 });
  const [smtp] = await store.rateClasses();
  assert.equal(
    [smtp?.name, smtp?.tokens, smtp?.burst, smtp?.paused, smtp?.waiting],
    ["smtp", 3, 3, false, 0],
  );
  assert.type(await store.deferRateClass("smtp", 1000), "number");
  await store.deleteRateClass("smtp");
  assert.is(await codeOf(store.deleteRateClass("smtp")), "not_found");
  assert.is(await codeOf(store.upsertRateClass({ name: "", limitPerWindow: 1 })), "invalid");
});

policies("ceilings, partitions and explanations", async () => {
  await store.upsertConcurrencyLimit({ name: "one", queue: "q", maxConcurrent: 1 });
  await store.enqueue([
    { kind: "work", queue: "q", partitionKey: "a" },
    { kind: "work", queue: "q", partitionKey: "a", id: "second" },
  ]);
  const claims = await store.admit({ worker: "w", queues: ["q"], capacity: 5, leaseMs: 60_000 });
  assert.is(claims.length, 1);
  assert.equal((await store.concurrencyLimits())[0], {
    name: "one",
    queue: "q",
    maxConcurrent: 1,
    onSaturated: "queue",
    running: 1,
  });
  const [partition] = await store.partitions("q");
  assert.equal([partition?.partitionKey, partition?.heldBack], ["a", "concurrency_limit"]);
  const why = await store.explainAdmission("second");
  assert.equal([why?.admissible, why?.reason, why?.positionInLine], [false, "concurrency_limit", 1]);
  assert.is(await store.explainAdmission("nobody"), null);
  await store.deleteConcurrencyLimit("one");
  assert.is(await codeOf(store.deleteConcurrencyLimit("one")), "not_found");
});

policies("one job, by its id, without its turn", async () => {
  const admit = (jobId: string, queues = ["named"], capacity = 5) =>
    store.admit({ worker: "w", queues, capacity, leaseMs: 60_000, jobId });
  await store.enqueue([
    { kind: "first", queue: "named", priority: 9 },
    { kind: "wanted", queue: "named", id: "wanted", rateClasses: ["named"] },
    { kind: "later", queue: "named", id: "later", delayMs: 60_000 },
  ]);
  await store.upsertRateClass({ name: "named", limitPerWindow: 1, windowMs: 3_600_000, paused: true });
  assert.equal((await admit("wanted")).refused, { rate_class: 1 }, "its policies hold");
  await store.deleteRateClass("named");
  assert.is((await admit("wanted", ["other"])).length, 0, "it is not in that queue");
  assert.is((await admit("wanted", ["named"], 0)).length, 0);
  assert.is((await admit("later")).length, 0, "it is not due");
  assert.is((await admit("nobody")).length, 0);
  assert.is(await codeOf(admit("x".repeat(256))), "invalid");
  const both = await Promise.all([admit("wanted"), admit("wanted")]);
  assert.equal(both.map((claims) => claims.length).sort(), [0, 1]);
  const [claim] = both.flat();
  assert.equal([claim?.id, claim?.kind, claim?.fence], ["wanted", "wanted", 1n]);
  assert.is(await store.ack(claim!, "success"), "deleted");
  assert.is((await store.admit({ worker: "w", queues: ["named"] }))[0]?.kind, "first");
});

policies("quarantine and deadlines", async () => {
  assert.equal(await store.quarantineList(), []);
  assert.is(await codeOf(store.quarantineRelease("0".repeat(32))), "not_found");
  assert.is(await store.quarantineSweep(), 0);
  await store.enqueue([{ kind: "late", queue: "l", deadlineMs: 1 }]);
  assert.is(await store.expireDeadlines(), 1);
});

policies.run();
