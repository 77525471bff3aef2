import { setTimeout as sleep } from "node:timers/promises";
import * as assert from "uvu/assert";
import { DeadlineError, PgStore, task, Worker, type JobContext } from "../../../src/index.js";
import { eventually } from "../support/eventually.js";
import { moveClock } from "../support/jobs.js";
import { isSuspect } from "../../../src/worker/suspects.js";
import { claimOf } from "./fakes.js";
import { kept, silent, workerSuite } from "./support.js";

const test = workerSuite("runtime");

/** A handler that takes a while and knows how many of it ran together. */
function counting(ms: number): { readonly handler: () => Promise<void>; readonly most: () => number } {
  let inside = 0;
  let most = 0;
  return {
    most: () => most,
    async handler() {
      most = Math.max(most, ++inside);
      await sleep(ms);
      inside--;
    },
  };
}

test("no more jobs run at a time than the worker may", async ({ client, store, run }) => {
  const { handler, most } = counting(20);
  await client.enqueueMany(Array.from({ length: 40 }, () => ({ kind: "a", options: kept })));
  await run({ a: handler }, { concurrency: 3 });
  await eventually("all are done", async () => (await store.counts()).byState.completed === 40);
  assert.is(most(), 3);
});

test("no more jobs of a kind than its task may, and they leave room for others", async ({
  client,
  store,
  run,
  put,
  until,
}) => {
  const { handler, most } = counting(30);
  await client.enqueueMany(Array.from({ length: 60 }, () => ({ kind: "narrow", options: kept })));
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const narrow = task({ concurrency: 2, handler: () => opened.then(handler) });
  const one = await run({ narrow, wide: () => 1 }, { concurrency: 8 });
  await eventually("some run", () => one.status().running > 0);
  // They stand behind the sixty.
  const others = await Promise.all([1, 2, 3].map(() => put("wide")));
  for (const id of others) await until(id, "completed");
  assert.is((await store.counts()).byState.completed, 3);
  open();
  await eventually("all are done", async () => (await store.counts()).byState.completed === 63, 60_000);
  assert.is(most(), 2);
  const { jobs } = await store.listJobs({ kind: "narrow", state: "completed" });
  assert.ok(jobs.every(({ attempt, crashAttempt }) => attempt === 0 && crashAttempt === 0));
});

test("a job that is cancelled while it waits in line gives its slot back", async ({ store, run, put }) => {
  let finish!: () => void;
  const held = new Promise<void>((resolve) => (finish = resolve));
  const started: string[] = [];
  const one = await run(
    { narrow: task({ concurrency: 1, handler: (_: unknown, job) => (started.push(job.id), held) }) },
    { lease: "300ms", duties: false },
  );
  await put("narrow");
  const waiting = await put("narrow");
  await eventually("both are here", () => one.status().running === 2);
  await store.operatorCancel(waiting);
  await eventually("its slot is free", () => one.status().running === 1);
  finish();
  await eventually("nothing runs", () => one.status().running === 0);
  assert.is(started.length, 1);
});

for (const [clock, hours] of [
  ["ahead", 2],
  ["behind", -2],
] as const) {
  test(`a store whose clock is ${clock}: jobs begin when they are due, and end at their deadline`, async ({
    database,
    store,
    run,
    put,
    until,
  }) => {
    await moveClock(database, hours * 3_600_000);
    const [row] = await database.query<{ now: string }>("select :SCHEMA.now_ms() as now");
    const reasons: unknown[] = [];
    const due = [await put("due", {}, { delay: "200ms" }), await put("due", {}, { delay: "600ms" })];
    const id = await put("ends", {}, { deadline: Number(row?.now) + 3000, delay: "300ms" });
    await run(
      {
        due: () => 1,
        ends: (_: unknown, job) =>
          new Promise<void>((resolve) => {
            job.signal.addEventListener("abort", () => (reasons.push(job.signal.reason), resolve()));
          }),
      },
      // Only the hint explains that it looks again.
      { poll: { min: "10m", max: "10m" }, wakeups: false, duties: false },
    );
    for (const one of due) await until(one, "completed");
    assert.equal(reasons, []);
    await until(id, "archived");
    assert.instance(reasons[0], DeadlineError);
    const [attempt] = await store.listAttempts(id);
    assert.equal([attempt?.outcome, attempt?.error], ["skip", "the deadline of the job has passed"]);
    assert.ok((attempt?.finishedAtMs ?? 0) >= Number(row?.now) + 3000);
  });
}

test("a worker that sleeps is woken by a new job in any of its queues, and by one that falls due", async ({
  database,
  client,
}) => {
  const store = await PgStore.connect(database.url, { schema: database.schema, listen: true });
  const one = new Worker(store, {
    tasks: { a: () => 1 },
    queues: ["default", "other"],
    logger: silent,
    // Only a notification explains that it looks again.
    poll: { min: "10m", max: "10m" },
  });
  await one.start();
  await eventually(
    "it sleeps",
    async () => one.status().emptyPolls > 0 && (store.notifying?.listening ?? false),
  );
  for (const options of [{}, { queue: "other" }, { delay: "300ms" }]) {
    await sleep(200);
    assert.is((await client.enqueueAndWait("a", {}, options)).state, "completed");
  }
  await one.stop();
  await store.close();
});

test("a deadline that passes while the job waits in line is seen when its turn comes", async ({
  database,
  store,
  run,
  put,
  until,
}) => {
  let finish!: () => void;
  const held = new Promise<void>((resolve) => (finish = resolve));
  const started: string[] = [];
  const one = await run(
    { narrow: task({ concurrency: 1, handler: (_: unknown, job) => (started.push(job.id), held) }) },
    { duties: false },
  );
  const first = await put("narrow");
  await eventually("the first runs", () => started.length === 1);
  const [row] = await database.query<{ now: string }>("select :SCHEMA.now_ms() as now");
  const late = await put("narrow", {}, { deadline: Number(row?.now) + 500 });
  await eventually("both are here", () => one.status().running === 2);
  await sleep(700);
  finish();
  await until(first, "completed");
  await until(late, "archived");
  assert.equal(started, [first]);
  assert.is((await store.listAttempts(late))[0]?.outcome, "skip");
});

test("the job's timeout counts before the task's, and each attempt has it anew", async ({
  store,
  run,
  put,
  until,
}) => {
  const heeds = (_: unknown, job: JobContext): Promise<void> =>
    sleep(60_000, undefined, { signal: job.signal }).catch(() => undefined);
  await run({
    long: task({ timeout: "1h", retryDelay: () => 0, handler: heeds }),
    short: task({ timeout: "100ms", retryDelay: () => 0, handler: heeds }),
  });
  const long = await put("long", {}, { timeout: "150ms", maxAttempts: 1 });
  const short = await put("short", {}, { maxAttempts: 2 });
  await until(long, "archived");
  await until(short, "archived");
  assert.match((await store.listAttempts(long))[0]?.error ?? "", /timeout of 150 ms/);
  const attempts = await store.listAttempts(short);
  assert.is(attempts.length, 2);
  assert.ok(attempts.every(({ error }) => error?.includes("timeout of 100 ms")));
});

test("a task's rules say when to try again, and what is no failure", async ({ store, run, put, until }) => {
  let calls = 0;
  await run({
    patient: task({
      retryDelay: (attempt) => (attempt === 0 ? "1h" : undefined),
      handler: () => {
        throw new Error("not yet");
      },
    }),
    nobody: task({
      isFailure: (error) => !(error as Error).message.includes("busy"),
      handler: () => {
        if (++calls <= 2) throw new Error("busy");
        if (calls === 3) throw new Error("mine");
      },
      retryDelay: () => 0,
    }),
    later: task({
      isFailure: () => false,
      retryDelay: () => "1h",
      handler: () => {
        throw new Error("busy for long");
      },
    }),
    broken: task({
      retryDelay: () => {
        throw new Error("in the rules");
      },
      handler: () => {
        throw new Error("in the handler");
      },
    }),
  });
  const patient = await put("patient");
  await until(patient, "retryable");
  const waiting = await store.getJob(patient);
  assert.ok((waiting?.scheduledAtMs ?? 0) > Date.now() + 3_000_000);
  const nobody = await put("nobody");
  await until(nobody, "completed");
  assert.is((await store.getJob(nobody))?.attempt, 1);
  assert.is(calls, 4);
  const later = await put("later");
  await until(later, "scheduled");
  assert.is((await store.getJob(later))?.attempt, 0);
  const broken = await put("broken", {}, { maxAttempts: 1 });
  await until(broken, "archived");
  const text = (await store.listAttempts(broken))[0]?.error ?? "";
  assert.match(text, /in the handler/);
  assert.match(text, /retry rules failed: Error: in the rules/);
});

test("a worker that was killed with many jobs is made up for at full width; only last chances are taken one by one", async ({
  database,
  store,
  client,
  run,
}) => {
  const { handler, most } = counting(100);
  const crash = async (): Promise<void> => {
    const claims = await store.admit({ worker: "killed", queues: ["default"], capacity: 12 });
    assert.is(claims.length, 12);
    await database.query("update :SCHEMA.lease set expires_at_ms = 0");
    assert.is((await store.reclaimExpired(100)).length, 12);
    await moveClock(database, 60_000);
  };
  const enqueue = (): Promise<unknown> =>
    client.enqueueMany(Array.from({ length: 12 }, (_, n) => ({ kind: "a", payload: n, options: kept })));
  await enqueue();
  await crash();
  const first = await run({ a: handler }, { concurrency: 6, duties: false });
  await eventually("all are done", async () => (await store.counts()).byState.completed === 12);
  assert.is(most(), 6);
  await first.stop();

  await enqueue();
  await crash();
  await crash();
  const alone = counting(20);
  const beside = counting(20);
  await client.enqueueMany(Array.from({ length: 40 }, () => ({ kind: "b", options: kept })));
  await run(
    { a: alone.handler, b: beside.handler },
    { concurrency: 6, duties: false, poll: { max: "50ms" } },
  );
  await eventually("all are done", async () => (await store.counts()).byState.completed === 64, 60_000);
  assert.is(alone.most(), 1);
  assert.ok(beside.most() > 1);
});

test("the worker knows the limit of SQL", async ({ database }) => {
  const [row] = await database.query<{ n: number }>("select :SCHEMA.crash_limit() as n");
  assert.equal(
    [
      isSuspect(claimOf("a", { crashAttempt: row!.n - 1 })),
      isSuspect(claimOf("a", { crashAttempt: row!.n - 2 })),
    ],
    [true, false],
  );
});

test.run();
