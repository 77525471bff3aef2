import { setTimeout as sleep } from "node:timers/promises";
import * as assert from "uvu/assert";
import { PgStore, task, Worker } from "../../../src/index.js";
import { startProxy } from "../support/proxy.js";
import { silent, workerSuite } from "./support.js";

const test = workerSuite("worker");

test("a result is kept, and waiting for it brings it", async ({ client, run }) => {
  await run({ add: (payload: unknown) => (payload as number[]).reduce((a, b) => a + b) });
  assert.is((await client.enqueueAndWait("add", [1, 2, 3])).result, 6);
});

test("whatever is thrown is a failed attempt with a text (R-56)", async ({ client, store, run, until }) => {
  const thrown: unknown[] = [undefined, null, "", 42, Symbol("s"), {}, Object.create(null), () => 1];
  await run({
    sync: (payload: unknown) => {
      throw thrown[payload as number];
    },
    async: async (payload: unknown) => {
      await sleep(1);
      throw thrown[payload as number];
    },
  });
  for (const kind of ["sync", "async"]) {
    for (let at = 0; at < thrown.length; at++) {
      const { id } = await client.enqueue(kind, at, { maxAttempts: 1 });
      await until(id, "archived");
      const [attempt] = await store.listAttempts(id);
      assert.is(attempt?.outcome, "retry");
      assert.ok(attempt?.error);
    }
  }
});

test("a result without a form is a failed attempt (R-59)", async ({ client, store, run, until }) => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  await run({ circle: () => circle, big: () => 10n, function: () => () => 1, nothing: () => undefined });
  for (const kind of ["circle", "big", "function"]) {
    const { id } = await client.enqueue(kind, {}, { maxAttempts: 1, retention: "1h" });
    await until(id, "archived");
    assert.match((await store.listAttempts(id))[0]?.error ?? "", /result can't be stored/);
  }
  const { id } = await client.enqueue("nothing", {}, { retention: "1h" });
  await until(id, "completed");
  assert.is(await store.getJobResult(id), null);
});

test("an unknown kind is put off for others and spends nothing (R-61)", async ({
  client,
  store,
  run,
  until,
}) => {
  const old = await run({ known: () => 1 });
  const { id } = await client.enqueue("v2", {}, { retention: "1h" });
  await until(id, "scheduled");
  assert.is((await store.getJob(id))?.attempt, 0);
  assert.equal(old.status().unknownKinds, { v2: 1 });
  assert.throws(() => new Worker(store, { tasks: {} }), /at least one task/);
  const tasks = { known: () => 1 };
  for (const workerId of ["", "é".repeat(128), "a\0b"])
    assert.throws(() => new Worker(store, { tasks, workerId }), /workerId must have 1 to 255 bytes/);
  assert.throws(
    () => new Worker(store, { tasks, queues: ["q".repeat(256)] }),
    /queue must have 0 to 255 bytes/,
  );
  assert.is(new Worker(store, { tasks, workerId: "w".repeat(255) }).workerId.length, 255);
});

test("snooze, skip, revoke and release end an attempt as they say", async ({ client, store, run, until }) => {
  let released = 0;
  await run({
    snooze: (_: unknown, job) => job.snooze("1h"),
    skip: (_: unknown, job) => job.skip("not today"),
    revoke: (_: unknown, job) => {
      throw job.revoke();
    },
    release: (_: unknown, job) => (released++ === 0 ? job.release() : undefined),
  });
  const ids = await Promise.all(
    ["snooze", "skip", "revoke", "release"].map(
      async (kind) => (await client.enqueue(kind, {}, { retention: "1h" })).id,
    ),
  );
  const expected = ["scheduled", "archived", "deleted", "completed"];
  for (const [at, id] of ids.entries()) await until(id, expected[at] ?? "");
  assert.is((await store.listAttempts(ids[1] ?? ""))[0]?.error, "not today");
  assert.is(released, 2);
});

test("steps that are done are skipped, with their results (R-19)", async ({ client, run, until }) => {
  const ran: string[] = [];
  await run({
    steps: task({
      retryDelay: () => 0,
      async handler(_: unknown, job) {
        const one = await job.step("one", () => (ran.push("one"), 1));
        const two = await job.step("two", () => (ran.push("two"), 2));
        if (job.attempt === 0) throw new Error("once");
        await job.step("three", () => void ran.push(`three after ${one} and ${two}`));
      },
    }),
  });
  const { id } = await client.enqueue("steps", {}, { retention: "1h" });
  await until(id, "completed");
  assert.equal(ran, ["one", "two", "three after 1 and 2"]);
});

test("a changed set of steps ends undecodable", async ({ client, run, until }) => {
  await run({
    steps: task({
      retryDelay: () => 0,
      async handler(_: unknown, job) {
        await job.step(job.attempt === 0 ? "old" : "new", () => 1);
        throw new Error("again");
      },
    }),
  });
  const { id } = await client.enqueue("steps", {});
  await until(id, "undecodable");
});

test("once does its effect with the completion, and not at all when it fails", async ({
  client,
  database,
  run,
  until,
}) => {
  await database.pool.query("create table effect_of_test (job text)");
  await run({
    once: task({
      retryDelay: () => 0,
      async handler(_: unknown, job) {
        await job.once(async (tx) => {
          await tx.client.query("insert into effect_of_test values ($1)", [job.id]);
          if (job.attempt === 0) throw new Error("after the insert");
        });
      },
    }),
  });
  const { id } = await client.enqueue("once", {}, { retention: "1h" });
  await until(id, "completed");
  const { rows } = await database.pool.query("select job from effect_of_test");
  assert.equal(rows, [{ job: id }]);
});

test("a handler that ignores its timeout loses its slot, and is reported (R-16)", async ({
  client,
  run,
  until,
}) => {
  const stuck: string[] = [];
  const one = await run(
    { hang: () => new Promise(() => undefined), quick: () => 1 },
    { concurrency: 2, lease: "2s", stuckGrace: "300ms" },
  );
  one.on("job:stuck", ({ job }) => stuck.push(job.id));
  const hanging = await Promise.all(
    [1, 2].map(() => client.enqueue("hang", {}, { timeout: "200ms", maxAttempts: 1 })),
  );
  for (const { id } of hanging) await until(id, "archived");
  const quick = await Promise.all([1, 2, 3].map(() => client.enqueue("quick", {}, { retention: "1h" })));
  for (const { id } of quick) await until(id, "completed");
  assert.equal(stuck.sort(), hanging.map(({ id }) => id).sort());
  assert.is(one.status().stuck, 2);
});

test("stop lets the quick finish and hands the slow back unharmed (R-62)", async ({
  client,
  store,
  run,
  until,
}) => {
  const begun = new Set<string>();
  const one = await run(
    {
      quick: async (_: unknown, job) => void (begun.add(job.id), await sleep(300)),
      heeds: async (_: unknown, job) =>
        void (begun.add(job.id), await sleep(60_000, undefined, { signal: job.signal })),
      ignores: async (_: unknown, job) =>
        void (begun.add(job.id), await sleep(60_000, undefined, { ref: false })),
    },
    { shutdownGrace: "1s" },
  );
  const ids = await Promise.all(
    ["quick", "heeds", "ignores"].map(
      async (kind) => (await client.enqueue(kind, {}, { retention: "1h" })).id,
    ),
  );
  while (begun.size < 3) await sleep(10);
  await one.stop();
  const [quick, ...others] = await Promise.all(ids.map((id) => store.getJob(id)));
  assert.is(quick?.state, "completed");
  for (const other of others) {
    assert.is(other?.state, "available");
    assert.is(other?.attempt, 0);
    assert.is(other?.crashAttempt, 0);
  }
  const [row] = await store.listWorkers();
  assert.is(row?.status, "stopped");
  await run({ heeds: () => 1, ignores: () => 1 });
  await Promise.all(ids.map((id) => until(id, "completed")));
});

test("claims that come while it stops are handed back (R-63)", async ({ client, store, database }) => {
  const proxy = await startProxy(database.url);
  const slow = await PgStore.connect(proxy.url, { schema: database.schema });
  await client.enqueueMany(Array.from({ length: 8 }, () => ({ kind: "a", payload: {} })));
  let ran = 0;
  const one = new Worker(slow, { tasks: { a: () => void ran++ }, logger: silent, duties: false });
  proxy.delay(300);
  await one.start();
  await sleep(100);
  await one.stop();
  proxy.delay(0);
  const { byState } = await store.counts();
  assert.is((byState.available ?? 0) + ran, 8);
  assert.is(byState.running ?? 0, 0);
  await slow.close();
  await proxy.close();
});

test("acks survive an outage shorter than the lease (R-13)", async ({ client, store, database }) => {
  const proxy = await startProxy(database.url);
  const through = await PgStore.connect(proxy.url, { schema: database.schema });
  const ran = new Map<string, number>();
  const one = new Worker(through, {
    tasks: {
      a: async (_: unknown, job) => {
        ran.set(job.id, (ran.get(job.id) ?? 0) + 1);
        await sleep(500);
      },
    },
    logger: silent,
  });
  await client.enqueueMany(
    Array.from({ length: 10 }, () => ({ kind: "a", payload: {}, options: { retention: "1h" } })),
  );
  await one.start();
  while (ran.size < 10) await sleep(10);
  await proxy.refuse(true);
  await sleep(2500);
  for (let tries = 0; tries < 500 && one.status().available; tries++) await sleep(20);
  assert.is(one.status().available, false);
  await proxy.refuse(false);
  for (let tries = 0; tries < 500 && (await store.counts()).byState.completed !== 10; tries++)
    await sleep(20);
  assert.is((await store.counts()).byState.completed, 10);
  assert.ok([...ran.values()].every((times) => times === 1));
  await one.stop();
  await through.close();
  await proxy.close();
});

test("a cancelled job's handler is told to stop", async ({ client, store, run }) => {
  const told = new Promise<unknown>((resolve) => {
    void run(
      {
        long: (_: unknown, job) =>
          new Promise<void>((done) => {
            job.signal.addEventListener("abort", () => (resolve(job.signal.reason), done()));
            void store.operatorCancel(job.id);
          }),
      },
      { lease: "1s" },
    );
  });
  await client.enqueue("long", {});
  assert.match(String(await told), /lease of job .* is lost/);
});

test("a pool that is too small is refused, with the formula (R-18)", async ({ store }) => {
  const one = new Worker(store, { tasks: { a: () => 1 }, maxTransactions: 9, logger: silent });
  const refusal = await one.start().catch(String);
  assert.match(String(refusal), /pool has 10 connections and needs 11: maxTransactions \(9\).*\+ 2/);
});

test("commands are obeyed: quiet, resume, terminate", async ({ client, store, run, until }) => {
  const one = await run({ a: () => 1 }, { lease: "300ms" });
  const heard = (state: string): Promise<void> =>
    (async () => {
      for (let tries = 0; tries < 500 && one.status().state !== state; tries++) await sleep(20);
      assert.is(one.status().state, state);
    })();
  while ((await store.listWorkers()).length === 0) await sleep(20);
  await store.signalWorker(one.workerId, "quiet");
  await heard("quiet");
  const { id } = await client.enqueue("a", {}, { retention: "1h" });
  await sleep(300);
  assert.is((await store.getJob(id))?.state, "available");
  await store.signalWorker(one.workerId, "resume");
  await until(id, "completed");
  await store.signalWorker(one.workerId, "terminate");
  assert.is(await one.stopped(), "terminate");
});

test("a batch handler answers each member by position", async ({ client, run, until, store }) => {
  await run({
    square: task<number>({
      batch: { maxSize: 3, maxDelay: "50ms" },
      batchHandler: (batch) =>
        batch.map(({ payload }) => (payload < 0 ? new Error("negative") : payload * payload)),
    }),
  });
  const ids = await Promise.all(
    [2, 3, -1].map(async (n) => (await client.enqueue("square", n, { retention: "1h", maxAttempts: 1 })).id),
  );
  await until(ids[0] ?? "", "completed");
  await until(ids[1] ?? "", "completed");
  await until(ids[2] ?? "", "archived");
  assert.is((await store.getJobResult(ids[1] ?? ""))?.bytes.toString(), "9");
});

test.run();
