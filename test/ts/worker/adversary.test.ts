// timeout: 240 s
import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import * as assert from "uvu/assert";
import { Client, PgStore, task, Worker, type JobContext, type Logger } from "../../../src/index.js";
import { eventually } from "../support/eventually.js";
import { startProxy } from "../support/proxy.js";
import { kept, silent, workerSuite } from "./support.js";

const test = workerSuite("adversary");

/** Whatever nobody caught while `body` ran, and warnings of Node. */
async function uncaught(body: () => Promise<void>): Promise<string[]> {
  const seen: string[] = [];
  const rejected = (error: unknown): void => void seen.push(`rejection: ${String(error)}`);
  const warned = (warning: Error): void => void seen.push(`warning: ${warning.message}`);
  process.on("unhandledRejection", rejected);
  process.on("warning", warned);
  try {
    await body();
    await sleep(50);
  } finally {
    process.off("unhandledRejection", rejected);
    process.off("warning", warned);
  }
  return seen;
}

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

test("ten thousand jobs leave no listener, timer or warning behind", async ({ client, store, run }) => {
  const signals: AbortSignal[] = [];
  const before = timers();
  const seen = await uncaught(async () => {
    for (let n = 0; n < 10; n++)
      await client.enqueueMany(Array.from({ length: 1000 }, (_, at) => ({ kind: "a", payload: at })));
    const one = await run(
      {
        a: task({
          timeout: "1h",
          handler: async (payload: unknown, job) => {
            if ((payload as number) % 100 === 0) {
              signals.push(job.signal);
              await job.step("one", () => 1);
            }
            return job.attempt;
          },
        }),
      },
      { concurrency: 50 },
    );
    await eventually("all are gone", async () => (await store.counts()).byState.available === 0, 120_000);
    await eventually("all are told", () => one.status().running + one.status().unacked === 0);
    assert.equal([one.status().stuck, signals.length], [0, 100]);
    assert.ok(signals.every((signal) => getEventListeners(signal, "abort").length === 0));
    await one.stop();
  });
  assert.equal(seen, []);
  // The pool has one for each connection that idles.
  assert.ok(timers() <= before + 20, `${before} timers before, ${timers()} behind`);
});

test("listeners, loggers and middleware that throw break nothing", async ({ client, store }) => {
  const thrower = (): never => {
    throw new Error("in the logger");
  };
  const logger: Logger = { debug: thrower, info: thrower, warn: thrower, error: thrower };
  const one = new Worker(store, {
    logger,
    tasks: { a: (_: unknown, job: JobContext) => (job.log.info("hello"), 1), never: () => 1 },
    middleware: [
      (job, next) => {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- the worst there is
        if (job.kind === "never") throw undefined;
        return next();
      },
    ],
  });
  for (const name of [
    "worker:started",
    "worker:ready",
    "worker:admission",
    "job:started",
    "job:settled",
    "worker:stopped",
  ] as const) {
    one.on(name, () => {
      throw new Error("in a listener");
    });
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- an async listener is one that may reject
    one.on(name, () => Promise.reject(new Error("later")));
  }
  const seen = await uncaught(async () => {
    const ids: string[] = [];
    for (const kind of ["a", "never"])
      ids.push((await client.enqueue(kind, {}, { ...kept, maxAttempts: 1 })).id);
    await one.start();
    await eventually("both have ended", async () => {
      const jobs = await Promise.all(ids.map((id) => store.getJob(id)));
      return jobs.map((job) => job?.state).join() === "completed,archived";
    });
    assert.is((await store.listAttempts(ids[1] ?? ""))[0]?.error, "undefined was thrown");
    await one.stop();
  });
  assert.equal(seen, []);
});

test("middleware sees what comes back, may change it, and may end the attempt itself", async ({
  store,
  run,
  put,
  until,
}) => {
  const order: string[] = [];
  const one = await run(
    {
      a: () => (order.push("handler"), 1),
      failing: () => {
        throw new Error("of the handler");
      },
      skipped: () => assert.unreachable(),
    },
    {
      middleware: [
        async (_job, next) => {
          order.push("outer");
          return [await next(), "outer"];
        },
        async (job, next) => {
          order.push("inner");
          if (job.kind === "skipped") return job.skip("by middleware");
          return next();
        },
      ],
    },
  );
  const a = await put("a");
  await until(a, "completed");
  assert.equal(order, ["outer", "inner", "handler"]);
  assert.is((await store.getJobResult(a))?.bytes.toString(), '[1,"outer"]');
  const failing = await put("failing", {}, { maxAttempts: 1 });
  await until(failing, "archived");
  one.wrap(async (_job, next) => (await next().catch(() => undefined), "mended"));
  const mended = await put("failing");
  await until(mended, "completed");
  assert.is((await store.getJobResult(mended))?.bytes.toString(), '"mended"');
});

test("a checkpoint of another form ends its job, not the worker", async ({ store, run, put, until }) => {
  const id = await put("a");
  const [claim] = await store.admit({ worker: "w", queues: ["default"] });
  assert.ok(claim);
  await store.checkpoint(claim, { completed: 5 as never });
  await store.release(claim);
  const seen = await uncaught(async () => {
    await run({ a: () => 1 });
    await until(id, "undecodable");
    await until(await put("a"), "completed");
  });
  assert.equal(seen, []);
});

test("an end whose answer was lost is tried again, and known to be uncertain, not lost", async ({
  database,
  client,
  store,
}) => {
  const proxy = await startProxy(database.url);
  const through = await PgStore.connect(proxy.url, { schema: database.schema, callTimeoutMs: 1500 });
  const told: string[] = [];
  const one = new Worker(through, {
    tasks: {
      a: () => {
        proxy.swallowReplies(true);
      },
    },
    logger: silent,
    lease: "20s",
    duties: false,
  });
  for (const name of ["job:settled", "job:lost", "job:uncertain"] as const)
    one.on(name, () => void told.push(name));
  const { id } = await client.enqueue("a", {}, kept);
  // While no answer comes no connection can be made: the ack needs one that is there.
  await Promise.all(Array.from({ length: 8 }, () => through.counts()));
  await one.start();
  await eventually("recorded", async () => (await store.getJob(id))?.state === "completed");
  assert.equal(told, []);
  proxy.swallowReplies(false);
  proxy.cut();
  await eventually("told", () => told.length > 0, 60_000);
  assert.equal(told, ["job:uncertain"]);
  assert.is(one.status().unacked, 0);
  await one.stop();
  await through.close();
  await proxy.close();
});

test("a store that is away for longer than every lease costs nothing but the time", async ({
  database,
  client,
  store,
}) => {
  const proxy = await startProxy(database.url);
  const through = await PgStore.connect(proxy.url, { schema: database.schema, callTimeoutMs: 2000 });
  const told: string[] = [];
  let release = false;
  const one = new Worker(through, {
    tasks: {
      a: async (_: unknown, job: JobContext) => {
        while (!release && !job.signal.aborted) await sleep(10);
        await job.progress(1, 1);
      },
    },
    logger: silent,
    lease: "1s",
  });
  one.on("store:available", ({ available }) => void told.push(`available: ${available}`));
  one.on("job:lost", () => void told.push("lost"));
  const seen = await uncaught(async () => {
    await client.enqueueMany(Array.from({ length: 5 }, () => ({ kind: "a", options: kept })));
    await one.start();
    await eventually("they run", () => one.status().running === 5);
    await proxy.refuse(true);
    await eventually("all are given up", () => told.filter((what) => what === "lost").length === 5);
    await eventually("their handlers have heeded it", () => one.status().running === 0);
    await sleep(1500);
    release = true;
    await proxy.refuse(false);
    await eventually("all are done", async () => (await store.counts()).byState.completed === 5, 60_000);
    await eventually("it knows", () => one.status().available);
  });
  assert.equal(seen, []);
  assert.equal(
    told.filter((what) => what !== "lost"),
    ["available: false", "available: true"],
  );
  const { jobs } = await store.listJobs({ kind: "a" });
  assert.ok(jobs.every(({ attempt, crashAttempt }) => attempt === 0 && crashAttempt === 1));
  await one.stop();
  await through.close();
  await proxy.close();
});

test("a task's every callback may throw anything", async ({ store, run, put, until }) => {
  const anything = (): never => {
    throw Object.create(null);
  };
  const huge = new Error("x".repeat(1_000_000));
  huge.stack = `Error\n    at ${"y".repeat(10_000_000)}`;
  await run({
    upcaster: task({ version: 2, upcasters: { 1: anything }, handler: () => 1 }),
    codec: task({ codec: { encode: anything, decode: anything }, handler: () => 1 }),
    schema: task({
      schema: { "~standard": { version: 1, vendor: "t", validate: anything } },
      handler: () => 1,
    }),
    rules: task({ retryDelay: anything, isFailure: anything, handler: anything }),
    result: task({ handler: () => ({ toJSON: anything }) }),
    step: task({ handler: (_: unknown, job) => job.step("s", anything) }),
    effect: task({ handler: (_: unknown, job) => job.once(anything).then(() => 1) }),
    huge: task({
      handler: () => {
        throw huge;
      },
    }),
    ending: task({ handler: (_: unknown, job) => Promise.reject(job.skip("thrown")) }),
  });
  const expected = { upcaster: "undecodable", codec: "undecodable", schema: "undecodable" } as Record<
    string,
    string
  >;
  for (const kind of ["upcaster", "codec", "schema", "rules", "result", "step", "effect", "huge", "ending"]) {
    const id = await put(kind, {}, { maxAttempts: 1 });
    await until(id, expected[kind] ?? "archived");
    const [attempt] = await store.listAttempts(id);
    assert.ok(attempt?.error, kind);
    assert.ok(Buffer.byteLength(attempt?.error ?? "") <= 10_000, kind);
  }
});

test("two workers and a client in one process know nothing of each other", async ({ store, put, until }) => {
  const tasks = { a: () => 1 };
  const [one, two] = [1, 2].map(() => new Worker(store, { tasks, logger: silent }));
  await one!.start();
  await two!.start();
  await one!.stop();
  await until(await put("a"), "completed");
  assert.is((await new Client(store).enqueueAndWait("a", {})).state, "completed");
  await two!.stop();
});

test.run();
