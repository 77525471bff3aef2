// timeout: 300 s
import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { TaskRuntime, type TaskPolicy } from "../../../src/index.js";
import { enqueue, fresh, refused, statusOf, testBackend } from "./support.js";

const scenarios = suite("backend scenarios");
const { database, backend } = await testBackend({ poolSize: 20 });
const silent = { debug() {}, info() {}, warn() {}, error() {} };

scenarios.after(() => database.close());

/** The fixtures, in a pool of their own: three executions, no wait, no limits. */
function fixtures(policy: TaskPolicy = {}) {
  const pool = fresh("pool");
  const hits: string[] = [];
  let failures = 0;
  const names = ["noop", "counting", "sleeping", "failing", "flaky"].map(
    (word) => [word, fresh(word)] as const,
  );
  const name = Object.fromEntries(names) as Record<
    "noop" | "counting" | "sleeping" | "failing" | "flaky",
    string
  >;
  const tasks = {
    [name.noop]: () => undefined,
    [name.counting]: (_payload: unknown, job: { id: string }) => void hits.push(job.id),
    [name.sleeping]: async (payload: { ms: number }, job: { id: string; signal: AbortSignal }) => {
      await sleep(payload.ms, undefined, { signal: job.signal });
      hits.push(job.id);
    },
    [name.failing]: () => {
      throw new Error("always");
    },
    [name.flaky]: () => {
      if (++failures <= 2) throw new Error(`failure ${failures}`);
    },
  };
  const policies = Object.fromEntries(
    Object.values(name).map((task) => [task, { pool, retryPolicy: { maxAttempts: 3 }, ...policy }]),
  );
  const options = { tasks, policies, pools: [pool], logger: silent } as const;
  const runtime = new TaskRuntime(backend, options);
  return { pool, hits, name, runtime, options };
}

async function drain(runtime: TaskRuntime, most = 40): Promise<number> {
  let driven = 0;
  while (driven < most && (await runtime.tryRunNext())) driven++;
  return driven;
}

/** Waits until the job has the status. */
async function until(id: string, status: string, timeoutMs = 20_000): Promise<void> {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(20)) {
    if ((await statusOf(backend, id)) === status) return;
  }
  assert.is(await statusOf(backend, id), status);
}

const lastRun = async (id: string) => (await backend.listRuns(id, 0, 1))[0];

scenarios("enqueue and drain: one job, one hit, job and run succeed", async () => {
  const { runtime, name, hits } = fixtures();
  await runtime.register();
  const [id, disposition] = await runtime.enqueue(name.counting);
  assert.is(disposition, "inserted_new");
  assert.is(await drain(runtime), 1);
  assert.equal(hits, [id]);
  assert.is(await statusOf(backend, id), "success");
  const run = await lastRun(id);
  assert.equal([run?.status, run?.attempt, run?.jobId], ["success", 1, id]);
  assert.ok(Number(run?.durationMs) >= 0);
  assert.is(await runtime.tryRunNext(), false);
});

scenarios("enqueue only", async () => {
  const { runtime, name, pool } = fixtures();
  await runtime.register();
  const [id] = await runtime.enqueue(name.noop);
  assert.is((await backend.getJob(id))?.pool, pool);
  assert.is(await statusOf(backend, id), "queued");
});

scenarios("several jobs, drained by two workers that run several at once", async () => {
  const { runtime, name, hits } = fixtures();
  await runtime.register();
  const ids: string[] = [];
  for (let at = 0; at < 16; at++) ids.push((await runtime.enqueue(name.counting))[0]);
  const workers = [1, 2].map(() => runtime.worker({ concurrency: 4, duties: false, lease: "120s" }));
  await Promise.all(workers.map((worker) => worker.start()));
  for (const id of ids) await until(id, "success");
  await Promise.all(workers.map((worker) => worker.stop()));
  assert.equal([...hits].sort(), [...ids].sort());
  for (const id of ids) assert.is(await backend.countRuns(id), 1);
});

scenarios("a task that nobody knows can't be enqueued", async () => {
  const { runtime } = fixtures();
  const error = await refused(runtime.enqueue("nobody_knows"), "not_found");
  assert.equal([error.fields.what, error.fields.id], ["task", "nobody_knows"]);
});

scenarios("limits of the descriptor, and those that an operator stored", async () => {
  const inFlight = fixtures({ rateLimitPolicy: { maxInFlight: 1 } });
  await inFlight.runtime.register();
  await inFlight.runtime.enqueue(inFlight.name.noop);
  await refused(inFlight.runtime.enqueue(inFlight.name.noop), "rate_limited");
  const perSecond = fixtures({ rateLimitPolicy: { maxEnqueuePerSecond: 1 } });
  await perSecond.runtime.register();
  await perSecond.runtime.enqueue(perSecond.name.noop);
  await refused(perSecond.runtime.enqueue(perSecond.name.noop), "rate_limited");
  const stored = fixtures();
  const { noop } = stored.name;
  await backend.upsertTaskConfig({ taskName: noop, pool: stored.pool, rateLimitPolicy: { maxInFlight: 1 } });
  // Registering does not overwrite what is stored.
  await stored.runtime.register();
  assert.is((await backend.getTaskConfig(noop))?.rateLimitPolicy.maxInFlight, 1);
  await stored.runtime.enqueue(noop);
  await refused(stored.runtime.enqueue(noop), "rate_limited");
});

scenarios("idempotency: while queued, after the end, and off", async () => {
  const { runtime, name } = fixtures();
  await runtime.register();
  const idempotencyKey = fresh("key");
  const [id] = await runtime.enqueue(name.noop, {}, { idempotencyKey });
  assert.equal(await runtime.enqueue(name.noop, {}, { idempotencyKey }), [id, "reused_idempotent"]);
  assert.is(await drain(runtime), 1);
  assert.is(await statusOf(backend, id), "success");
  assert.is.not((await runtime.enqueue(name.noop, {}, { idempotencyKey }))[0], id);
  const off = fixtures({ idempotencyMode: "none" });
  await off.runtime.register();
  const [one] = await off.runtime.enqueue(off.name.noop, {}, { idempotencyKey: "same" });
  const [two] = await off.runtime.enqueue(off.name.noop, {}, { idempotencyKey: "same" });
  assert.is.not(one, two);
});

scenarios("a failure for good", async () => {
  const { runtime, name } = fixtures({ retryPolicy: { maxAttempts: 1 } });
  await runtime.register();
  const [id] = await runtime.enqueue(name.failing);
  assert.is(await drain(runtime), 1);
  const job = await backend.getJob(id);
  assert.equal([job?.status, job?.attempt, job?.maxAttempts], ["failed", 1, 1]);
  const run = await lastRun(id);
  assert.is(run?.status, "failed");
  assert.match(run?.errorMessage ?? "", "always");
});

scenarios("retries: success in the end with exactly three runs, or exhaustion", async () => {
  const { runtime, name } = fixtures();
  await runtime.register();
  const [flaky] = await runtime.enqueue(name.flaky);
  assert.is(await drain(runtime), 3);
  assert.is(await statusOf(backend, flaky), "success");
  const runs = await backend.listRuns(flaky);
  assert.equal(
    runs.map(({ status, attempt }) => [status, attempt]),
    [
      ["success", 3],
      ["failed", 2],
      ["failed", 1],
    ],
  );
  const [failing] = await runtime.enqueue(name.failing);
  assert.is(await drain(runtime), 3);
  const job = await backend.getJob(failing);
  assert.equal([job?.status, job?.attempt, await backend.countRuns(failing)], ["failed", 3, 3]);
});

scenarios("cancel: queued, unknown, running", async () => {
  const { runtime, name, hits } = fixtures();
  await runtime.register();
  const [queued] = await runtime.enqueue(name.noop);
  await backend.cancelJobIfActive(queued);
  assert.is(await statusOf(backend, queued), "canceled");
  await backend.cancelJobIfActive(queued);
  assert.is(await drain(runtime), 0);
  const error = await refused(backend.cancelJobIfActive("nobody"), "not_found");
  assert.is(error.fields.what, "job");

  const [running] = await runtime.enqueue(name.sleeping, { ms: 60_000 });
  const worker = runtime.worker({ duties: false, lease: "600ms" });
  await worker.start();
  await until(running, "running");
  const lost = new Promise((resolve) => worker.on("job:lost", resolve));
  await backend.cancelJobIfActive(running);
  await lost;
  await worker.stop();
  assert.is(await statusOf(backend, running), "canceled");
  assert.is((await lastRun(running))?.status, "canceled");
  assert.equal(hits, []);
});

scenarios("a long job keeps its lease, with a reclaimer and a second worker beside it", async () => {
  const { runtime, name, hits } = fixtures();
  await runtime.register();
  const [id] = await runtime.enqueue(name.sleeping, { ms: 3000 });
  const workers = [1, 2].map(() => runtime.worker({ lease: "1s", duties: false }));
  await Promise.all(workers.map((worker) => worker.start()));
  for (const end = Date.now() + 20_000; Date.now() < end && hits.length === 0; await sleep(100)) {
    await backend.store.reclaimExpired();
  }
  await until(id, "success");
  await Promise.all(workers.map((worker) => worker.stop()));
  assert.equal(hits, [id]);
  assert.is(await backend.countRuns(id), 1);
});

scenarios("jobs outlive the runtime that enqueued them", async () => {
  const { runtime, name, options } = fixtures();
  await runtime.register();
  const [id] = await runtime.enqueue(name.noop);
  assert.is(await drain(new TaskRuntime(backend, options)), 1);
  assert.is(await statusOf(backend, id), "success");
});

scenarios("lower priority numbers run first", async () => {
  const { runtime, name, hits } = fixtures();
  await runtime.register();
  const [five] = await runtime.enqueue(name.counting, {}, { priority: 5 });
  const [one] = await runtime.enqueue(name.counting, {}, { priority: 1 });
  assert.is(await drain(runtime), 2);
  assert.equal(hits, [one, five]);
});

scenarios("list, count, stats, and a job that is not there", async () => {
  const { runtime, name } = fixtures();
  await runtime.register();
  for (let at = 0; at < 5; at++) await runtime.enqueue(name.noop);
  const listed = (await backend.listJobs("queued", 0, 10_000)).filter(
    ({ taskName }) => taskName === name.noop,
  );
  assert.is(listed.length, 5);
  assert.is(await backend.countJobsForTask(name.noop, "queued"), 5);
  assert.is(await drain(runtime), 5);
  await runtime.enqueue(name.failing);
  await drain(runtime);
  assert.equal(await backend.taskRunStats(name.noop), { runsTotal: 5, successCount: 5 });
  assert.equal(await backend.taskRunStats(name.failing), { runsTotal: 3, successCount: 0 });
  assert.is(await backend.getJob("nobody"), null);
});

scenarios("a queued job that somebody has reserved", async () => {
  const { runtime, name } = fixtures();
  await runtime.register();
  const [id] = await runtime.enqueue(name.noop);
  const lease = await backend.tryClaimRunLease(id, "a", 120);
  assert.ok(lease);
  assert.is(await backend.tryClaimRunLease(id, "b", 120), null);
  await backend.releaseLease(lease);
  assert.is(await drain(runtime), 1);
  assert.is(await statusOf(backend, id), "success");
});

scenarios("another signature: failed at once, and no execution is spent", async () => {
  const { options, name, hits } = fixtures();
  const enqueuing = new TaskRuntime(backend, { ...options, signatures: { [name.counting]: 1n } });
  const working = new TaskRuntime(backend, { ...options, signatures: { [name.counting]: 2n ** 64n - 1n } });
  await enqueuing.register();
  const [id] = await enqueuing.enqueue(name.counting);
  assert.is(await drain(working), 1);
  const job = await backend.getJob(id);
  assert.equal([job?.status, job?.attempt], ["failed", 1]);
  assert.match((await lastRun(id))?.errorMessage ?? "", "signature mismatch");
  // 2^64 - 1 is kept to the last bit.
  const [same] = await working.enqueue(name.counting);
  assert.is((await backend.getJob(same))?.signatureHash, 2n ** 64n - 1n);
  assert.is(await drain(working), 1);
  assert.equal(hits, [same]);
});

scenarios("tryRunNext is not re-entered, and a store that fails is no job", async () => {
  const { runtime, name } = fixtures();
  await runtime.register();
  await runtime.enqueue(name.sleeping, { ms: 300 });
  const first = runtime.tryRunNext();
  assert.is(await runtime.tryRunNext(), false);
  assert.is(await first, true);
});

scenarios("the actor reaches the handler", async () => {
  const taskName = fresh("who");
  const seen: unknown[] = [];
  const tasks = {
    [taskName]: (_: unknown, job: { headers: Record<string, string> }) =>
      void seen.push(job.headers["actor"]),
  };
  const runtime = new TaskRuntime(backend, { tasks, pools: [taskName], logger: silent });
  await enqueue(backend, { taskName, pool: taskName, actorJson: '{"Service":"x"}' });
  assert.is(await runtime.tryRunNext(), true);
  assert.equal(seen, ['{"Service":"x"}']);
});

scenarios.run();
