import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore } from "../../../src/index.js";
import type { Claim, Job } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";
import { moveClock } from "../support/jobs.js";
import { storeError } from "../support/store-error.js";

const operating = suite("the store's methods for operators");
const database = await testDatabase();
const store = new PgStore(database.pool, { schema: database.schema });

const one = async (job: Partial<Job> = {}): Promise<string> => {
  const [{ id } = { id: "" }] = await store.enqueue([{ kind: "task", ...job }]);
  return id;
};
const claimed = async (queue: string): Promise<Claim> => {
  const [claim] = await store.admit({ worker: "w", queues: [queue], capacity: 1 });
  if (!claim) throw new Error("nothing was admitted");
  return claim;
};
const refused = storeError;

operating(
  "single moves: operatorRetry, operatorCancel, promoteJob, rescheduleJob, editPayload, deleteJob",
  async () => {
    const id = await one({ queue: "moves" });
    await store.operatorCancel(id);
    await store.operatorRetry(id);
    assert.is((await refused(store.promoteJob(id))).code, "invalid");
    assert.is((await refused(store.rescheduleJob(id, 1))).code, "invalid");
    await store.editPayload(id, Buffer.from("[1]"), { schemaVersion: 2 });
    const job = await store.getJob(id, true);
    assert.equal([job?.payload, job?.schemaVersion, job?.state], [Buffer.from("[1]"), 2, "available"]);
    await store.deleteJob(id);
    assert.is((await refused(store.deleteJob(id))).code, "not_found");
    const later = await one({ queue: "moves", delayMs: 60_000 });
    await store.rescheduleJob(later, 1);
    assert.is((await claimed("moves")).id, later);
  },
);

operating("createOperation, getOperation, listOperations, runPendingOperations, deleteQueue", async () => {
  for (let n = 0; n < 3; n++) await one({ queue: "bulk", kind: "bulk:a" });
  assert.is((await refused(store.createOperation("cancel", {}))).code, "invalid");
  const dry = await store.createOperation("cancel", { queue: "bulk", kindPrefix: "bulk:" }, { dryRun: true });
  assert.is((await store.getOperation(dry))?.estimated, 3);
  const id = await store.createOperation("cancel", { queue: "bulk" }, { id: "mine" });
  assert.is(id, "mine");
  assert.is(
    (await refused(store.createOperation("delete", { queue: "bulk" }, { id: "mine" }))).code,
    "id_conflict",
  );
  assert.is(await store.runPendingOperations(2), 2);
  while ((await store.getOperation(id))?.finishedAtMs === null) await store.runPendingOperations();
  const done = await store.getOperation(id);
  assert.equal([done?.status, done?.affected, done?.skipped], ["completed", 3, 0]);
  assert.is((await store.listOperations()).length, 2);
  assert.is(await store.getOperation("nothing"), null);
  await one({ queue: "bulk" });
  assert.is((await refused(store.deleteQueue("bulk"))).code, "invalid");
  const deletion = await store.deleteQueue("bulk", true);
  for (let run = 0; run < 5; run++) await store.runPendingOperations();
  assert.is((await store.getOperation(deletion ?? ""))?.status, "completed");
  assert.is(await store.deleteQueue("bulk"), null);
});

operating("listJobs goes on where a page is short", async () => {
  for (let n = 0; n < 5; n++) await one({ queue: "pages", tags: n % 2 ? ["odd"] : ["even"] });
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await store.listJobs({ queue: "pages" }, cursor, 2);
    seen.push(...page.jobs.map(({ id }) => id));
    cursor = page.nextCursor;
  } while (cursor !== null);
  assert.is(new Set(seen).size, 5);
  assert.is((await store.listJobs({ queue: "pages", tagsAny: ["odd"] })).jobs.length, 2);
  const { byState, approximate } = await store.counts("pages");
  assert.equal([byState.available, approximate], [5, false]);
});

operating(
  "writeJobOutput, writeJobProgress, getJobOutput, getJobProgress, getJobCheckpoint, getJobResult",
  async () => {
    const id = await one({ queue: "extras", retentionMs: 60_000 });
    const claim = await claimed("extras");
    assert.is(await store.getJobOutput(id), null);
    assert.is(await store.getJobProgress(id), null);
    assert.equal((await store.getJobCheckpoint(id))?.checkpoint.completed, []);
    assert.is(await store.getJobCheckpoint("nobody"), null);
    const output = await store.writeJobOutput(claim, { bytes: Buffer.from("o") });
    assert.is(output.fence, claim.fence);
    assert.equal(await store.getJobOutput(id), output);
    const progress = await store.writeJobProgress(claim, { current: 1, total: 4, message: "begun" });
    assert.equal(await store.getJobProgress(id), progress);
    assert.is((await refused(store.writeJobProgress(claim, { current: 5, total: 4 }))).code, "invalid");
    assert.is(await store.getJobResult(id), null);
    await store.ackSuccessWithResult(claim, { schemaVersion: 3, bytes: Buffer.from("r") });
    assert.equal(await store.getJobResult(id), { schemaVersion: 3, bytes: Buffer.from("r") });
    assert.is(
      (await refused(store.writeJobOutput(claim, { bytes: Buffer.from("x") }))).code,
      "lease_rejected",
    );
  },
);

operating(
  "setQueuePaused, setQueueWeight, setEnqueueLimit, setHistoryPolicy, setFailedRetention",
  async () => {
    const queue = "settings";
    await store.setQueuePaused(queue, true);
    await one({ queue });
    assert.is((await store.admit({ worker: "w", queues: [queue] })).length, 0);
    await store.setQueuePaused(queue, false);
    await store.setQueueWeight(queue, 3);
    await store.setEnqueueLimit(queue, 1);
    const full = await refused(store.enqueue([{ kind: "task", queue }]));
    assert.is(full.code, "backpressure");
    assert.equal(full.fields, { queue, limit: 1, current: 1, incoming: 1 });
    await store.setHistoryPolicy(queue, "all");
    await store.setFailedRetention(queue, 1000);
    const stats = (await store.queueStats()).find((row) => row.queue === queue);
    assert.equal([stats?.depth, stats?.maxUnfinishedJobs, stats?.weight, stats?.paused], [1, 1, 3, false]);
    assert.equal(stats?.byState, { available: 1 });
    await store.setEnqueueLimit(queue, null);
    await one({ queue });
    assert.is((await refused(store.setQueueWeight(queue, 0))).code, "invalid");
  },
);

operating(
  "queueStats, history, metrics, distinctKinds, sampleQueueMemory, indexHealth, reindexConcurrently",
  async () => {
    assert.ok((await store.sampleQueueMemory(10)) > 0 || (await store.queueStats()).length > 0);
    assert.ok((await store.history(null, 0)).length > 0);
    assert.is((await refused(store.history("q", 0, 1))).code, "invalid");
    const metrics = await store.metrics();
    assert.ok(
      metrics.some(({ name, labels }) => name === "headrace_queue_depth" && labels["queue"] === "settings"),
    );
    assert.ok((await store.distinctKinds()).includes("task"));
    assert.ok((await store.indexHealth()).some(({ name, valid }) => name === "job_line" && valid));
    await store.reindexConcurrently("job_line");
    assert.is((await refused(store.reindexConcurrently("job"))).code, "invalid");
  },
);

operating(
  "setArchivePolicy, clearArchivePolicy, listArchive, getArchivedJob, pruneArchiveMonth",
  async () => {
    await store.setArchivePolicy("old", 1000);
    const id = await one({ queue: "old", payload: { a: 1 }, retentionMs: 1 });
    await store.ack(await claimed("old"), "success");
    await moveClock(database, 1000);
    assert.is(await store.evictRetained(), 1);
    await store.clearArchivePolicy("old");
    const page = await store.listArchive({ queue: "old" });
    assert.equal([page.jobs[0]?.id, page.jobs[0]?.queue, page.nextCursor], [id, "old", null]);
    assert.is((await store.listArchive({ month: "2020-01" })).jobs.length, 0);
    const [whole] = await store.getArchivedJob(id);
    assert.equal(whole?.payload, Buffer.from('{"a":1}'));
    assert.is(await store.makeArchiveMonths(), 0);
    assert.is((await refused(store.pruneArchiveMonth("2031;DROP"))).code, "invalid");
    await moveClock(database, 40 * 86_400_000);
    const month = new Date(page.jobs[0]?.evictedAtMs ?? 0).toISOString().slice(0, 7);
    assert.is(await store.pruneArchiveMonth(month), 1);
  },
);

operating("grantAccess, revokeAccess and setTransitionGuard are for the owner", async () => {
  const unknown = await refused(store.grantAccess("nobody-at-all", "reader"));
  assert.equal([unknown.code, unknown.fields], ["not_found", { what: "role", id: "nobody-at-all" }]);
  assert.is((await refused(store.revokeAccess("nobody-at-all", "reader"))).code, "not_found");
  await store.setTransitionGuard(true);
});

operating("signalWorker and heartbeatWorker, and what the store says it can", async () => {
  await store.heartbeatWorker({ workerId: "w9", incarnation: "i" });
  await store.signalWorker("w9", "quiet");
  assert.is(await store.heartbeatWorker({ workerId: "w9", incarnation: "i" }), "quiet");
  assert.is(await store.heartbeatWorker({ workerId: "w9", incarnation: "i", status: "quiet" }), null);
  assert.is((await store.listWorkers())[0]?.lastCommand, "quiet");
  assert.is((await refused(store.signalWorker("nobody", "quiet"))).code, "not_found");
  for (const part of [
    store.outputStore,
    store.progressStore,
    store.inspect,
    store.resultInspect,
    store.outputInspect,
    store.progressInspect,
    store.checkpointInspect,
  ]) {
    assert.ok(part);
  }
});

operating.after(() => database.close());
operating.run();
