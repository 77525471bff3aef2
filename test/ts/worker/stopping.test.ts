import { execFile } from "node:child_process";
import { writeFile, rm, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import * as assert from "uvu/assert";
import { root } from "../../../scripts/lib/source.js";
import { PgStore, task, Worker, WorkerStoppingError } from "../../../src/index.js";
import { eventually } from "../support/eventually.js";
import { startProxy } from "../support/proxy.js";
import { silent, workerSuite } from "./support.js";

const test = workerSuite("stopping");
const execute = promisify(execFile);

test("stop before start: it has stopped, and can't be started", async ({ store }) => {
  const one = new Worker(store, { tasks: { a: () => 1 }, logger: silent });
  const told: string[] = [];
  one.on("worker:stopped", ({ reason }) => told.push(reason));
  const waiting = one.stopped();
  await Promise.all([one.stop(), one.stop({ mode: "abort" })]);
  assert.is(await waiting, "stop");
  assert.is(one.status().state, "stopped");
  assert.equal(told, ["stop"]);
  assert.match(String(await one.start().catch(String)), /has been started before and is stopped/);
  assert.equal(await store.listWorkers(), []);
});

test("a worker is started once", async ({ run }) => {
  const one = await run({ a: () => 1 });
  assert.match(String(await one.start().catch(String)), /started before and is running/);
  await one.stop();
  assert.match(String(await one.start().catch(String)), /started before and is stopped/);
});

test("a second stop cuts the first short, and does not prolong it", async ({ store, run, put }) => {
  const reasons: unknown[] = [];
  const one = await run({
    long: (_: unknown, job) =>
      new Promise<void>((resolve) => {
        job.signal.addEventListener("abort", () => (reasons.push(job.signal.reason), resolve()));
      }),
  });
  const id = await put("long");
  await eventually("it runs", () => one.status().running === 1);
  const first = one.stop({ timeout: "1h" });
  await sleep(100);
  assert.is(one.status().state, "stopping");
  assert.equal(reasons, []);
  const second = one.stop({ timeout: "50ms" });
  const third = one.stop({ timeout: "1h" });
  await Promise.all([first, second, third]);
  assert.instance(reasons[0], WorkerStoppingError);
  assert.is((await store.getJob(id))?.state, "available");
  assert.match(String(await one.stop({ timeout: "soon" }).catch(String)), /timeout must look like/);
});

test("restart drains without limit; terminate afterwards ends that, and is the reason", async ({
  store,
  run,
  put,
}) => {
  const one = await run(
    { long: (_: unknown, job) => sleep(3_600_000, undefined, { signal: job.signal }).catch(() => undefined) },
    { lease: "3s", shutdownGrace: "100ms" },
  );
  const id = await put("long");
  await eventually("it runs", () => one.status().running === 1);
  await eventually("it is known", async () => (await store.listWorkers()).length === 1);
  await store.signalWorker(one.workerId, "restart");
  await eventually("it stops", () => one.status().state === "stopping");
  await sleep(500);
  assert.is(one.status().running, 1);
  assert.is(one.stopReason, "restart");
  await store.signalWorker(one.workerId, "terminate");
  assert.is(await one.stopped(), "terminate");
  const job = await store.getJob(id);
  assert.equal([job?.state, job?.attempt, job?.crashAttempt], ["available", 0, 0]);
});

test("resign gives the duties up and goes on working; resume takes them again", async ({
  store,
  run,
  put,
  until,
}) => {
  const one = await run({ a: () => 1 }, { lease: "600ms" });
  const duties = async (): Promise<boolean | undefined> => (await store.listWorkers())[0]?.dutiesActive;
  await eventually("has duties", async () => (await duties()) === true);
  await store.signalWorker(one.workerId, "resign");
  await eventually("has none", async () => (await duties()) === false);
  await until(await put("a"), "completed");
  assert.ok((await store.runDuties("another")).length > 0, "others can have them at once");
  await store.signalWorker(one.workerId, "resume");
  await eventually("has duties again", async () => (await duties()) === true);
});

test("a process above its memory ceiling drains and stops", async ({ run, put, until }) => {
  let finish!: () => void;
  const held = new Promise<void>((resolve) => (finish = resolve));
  const one = await run({ long: () => held }, { memoryCeiling: 1, shutdownGrace: 0 });
  const id = await put("long");
  await eventually("it runs", () => one.status().running === 1);
  await eventually("it stops", () => one.status().state === "stopping");
  assert.is(one.stopReason, "memory");
  await sleep(100);
  assert.is(one.status().running, 1);
  finish();
  assert.is(await one.stopped(), "memory");
  await until(id, "completed");
});

test("below its ceiling a worker works on", async ({ run, put, until }) => {
  const one = await run({ a: () => 1 }, { memoryCeiling: 2 ** 50 });
  await sleep(1500);
  await until(await put("a"), "completed");
  assert.is(one.status().state, "running");
});

test("jobs that are claimed while it drains are handed back at once, not at its end", async ({
  store,
  client,
  database,
}) => {
  const proxy = await startProxy(database.url);
  const slow = await PgStore.connect(proxy.url, { schema: database.schema });
  let finish!: () => void;
  const held = new Promise<void>((resolve) => (finish = resolve));
  const one = new Worker(slow, {
    tasks: { long: () => held, a: () => undefined },
    queues: ["long", "default"],
    logger: silent,
    duties: false,
    poll: { min: "5s", max: "5s" },
    wakeups: false,
  });
  await client.enqueue("long", {}, { queue: "long" });
  await one.start();
  await eventually("it runs", () => one.status().running === 1);
  // Its next admission is slow on its way, and brings jobs when it is to claim no more.
  await client.enqueueMany(Array.from({ length: 8 }, () => ({ kind: "a", payload: {} })));
  proxy.delay(2_000);
  one.quiet();
  one.resume();
  await eventually("claimed, and the answer is on its way", async () => {
    return (await store.counts()).byState.running === 9;
  });
  const stopping = one.stop({ timeout: "1h" });
  await eventually("claimed and handed back", async () => {
    const { byState } = await store.counts();
    const jobs = await store.listJobs({ kind: "a" });
    return byState.available === 8 && jobs.jobs.every((job) => job.fence === 1n);
  });
  assert.is(one.status().running, 1);
  proxy.delay(0);
  finish();
  await stopping;
  await slow.close();
  await proxy.close();
});

test("a handler that never ends keeps no process alive once its worker has stopped", async ({
  database,
  put,
  store,
  until,
}) => {
  const folder = await mkdtemp(join(root, "test", "ts", ".stopping-"));
  try {
    const file = join(folder, "main.ts");
    await writeFile(
      file,
      `import { PgStore, task, Worker } from "../../../src/index.js";
      const store = await PgStore.connect(${JSON.stringify(database.url)}, { schema: ${JSON.stringify(database.schema)} });
      const worker = new Worker(store, {
        tasks: {
          hang: task({ timeout: "1h", handler: () => new Promise(() => undefined) }),
          batch: task({ batch: { maxSize: 9, maxDelay: "1h" }, batchHandler: (batch) => batch.map(() => 1) }),
        },
        stuckGrace: "1h",
      });
      await worker.start();
      while (worker.status().running < 2) await new Promise((resolve) => setTimeout(resolve, 20));
      await worker.stop({ timeout: 0 });
      await store.close();
      process.on("exit", () => console.log("ended by itself", worker.status().state));`,
    );
    const ids = [await put("hang", {}, { deadline: Date.now() + 3_600_000 }), await put("batch")];
    const { stdout } = await execute(process.execPath, ["--import", "tsx", file], {
      timeout: 60_000,
      killSignal: "SIGKILL",
    });
    assert.match(stdout, /ended by itself stopped/);
    for (const id of ids) {
      await until(id, "available");
      assert.is((await store.getJob(id))?.crashAttempt, 0);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("stopping with nobody to tell ends when the leases have", async ({ database, client, store }) => {
  const proxy = await startProxy(database.url);
  const through = await PgStore.connect(proxy.url, { schema: database.schema });
  const { id } = await client.enqueue("long", {}, { retention: "1h" });
  const one = new Worker(through, {
    tasks: { long: task((_: unknown, job) => sleep(60_000, undefined, { signal: job.signal })) },
    logger: silent,
    lease: "1s",
  });
  await one.start();
  await eventually("it runs", () => one.status().running === 1);
  await proxy.refuse(true);
  await one.stop({ mode: "abort" });
  assert.is(one.status().unacked, 0);
  await proxy.refuse(false);
  await eventually("others reclaim it", async () => {
    await store.reclaimExpired(10);
    return (await store.getJob(id))?.state === "retryable";
  });
  await through.close();
  await proxy.close();
});

test.run();
