import { setTimeout as sleep } from "node:timers/promises";
import * as assert from "uvu/assert";
import { LeaseLostError, task, type JobContext, type LogFields, type Logger } from "../../../src/index.js";
import { eventually } from "../support/eventually.js";
import { moveClock } from "../support/jobs.js";
import { workerSuite } from "./support.js";

const test = workerSuite("handler context");

/** What the work was refused with. */
const refusal = async (work: () => unknown): Promise<Error> => {
  try {
    await work();
  } catch (error) {
    return error as Error;
  }
  throw new Error("was not refused");
};

test("a handler knows its job", async ({ store, run, put, until }) => {
  const seen: Record<string, unknown>[] = [];
  await run(
    {
      look: task({
        retryDelay: () => 0,
        handler: (payload: unknown, job: JobContext) => {
          const { id, kind, queue, partitionKey, priority, attempt, crashAttempt, maxAttempts } = job;
          const { headers, fence } = job;
          seen.push({
            payload,
            id,
            kind,
            queue,
            partitionKey,
            priority,
            attempt,
            crashAttempt,
            maxAttempts,
            headers,
            fence,
          });
          assert.ok(job.signal instanceof AbortSignal && !job.signal.aborted);
          assert.ok(job.enqueuedAtMs > 0 && job.scheduledAtMs >= job.enqueuedAtMs);
          assert.ok((job.deadlineMs ?? 0) > job.enqueuedAtMs);
          if (attempt === 0) throw new Error("once more");
        },
      }),
    },
    { middleware: [(job, next) => (seen.push({ payload: job.payload }), next())] },
  );
  const id = await put(
    "look",
    { n: 1 },
    {
      partitionKey: "acme",
      priority: 7,
      maxAttempts: 3,
      headers: { who: "ada" },
      deadline: Date.now() + 3_600_000,
    },
  );
  await until(id, "completed");
  const common = {
    id,
    kind: "look",
    queue: "default",
    partitionKey: "acme",
    priority: 7,
    crashAttempt: 0,
    maxAttempts: 3,
  };
  assert.equal(seen, [
    { payload: { n: 1 } },
    { payload: { n: 1 }, ...common, attempt: 0, headers: { who: "ada" }, fence: 1n },
    { payload: { n: 1 } },
    { payload: { n: 1 }, ...common, attempt: 1, headers: { who: "ada" }, fence: 2n },
  ]);
  assert.is((await store.getJob(id))?.attempt, 1);
});

test("a handler knows which tick it runs for", async ({ store, run, put, until }) => {
  const seen: unknown[] = [];
  await run({
    look: task({
      retryDelay: () => 0,
      handler: (_: unknown, job: JobContext) => {
        seen.push([job.periodicScheduleId, job.periodicTickMs, job.headers["who"], job.attempt]);
        if (job.periodicTickMs !== null && job.attempt === 0) throw new Error("once more");
      },
    }),
  });
  const headers = { who: "ada" };
  await store.upsertSchedule({
    id: "éach second",
    spec: "@every:1000",
    kind: "look",
    retentionMs: 3_600_000,
    headers,
  });
  await eventually("ticks", () => seen.length > 3);
  await store.deleteSchedule("éach second");
  const first = (await store.listJobs({ kind: "look" }, null, 200)).jobs.at(-1);
  const tickMs = first!.periodicTickMs!;
  assert.ok(tickMs > 0 && tickMs % 1000 === 0);
  assert.equal(
    seen.filter((row) => (row as unknown[])[1] === tickMs),
    [0, 1].map((attempt) => ["éach second", tickMs, "ada", attempt]),
  );
  seen.length = 0;
  const plain = await put("look", {}, { headers });
  await until(plain, "completed");
  assert.ok(seen.some((row) => JSON.stringify(row) === '[null,null,"ada",0]'));
});

test("what a handler logs goes to the worker's log and, bounded, into the attempt's history", async ({
  store,
  run,
  put,
  until,
}) => {
  const lines: string[] = [];
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}): void =>
      void (
        message.startsWith("mine") && lines.push([level, message, fields["jobId"], fields["at"]].join(" "))
      );
  const logger: Logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  await run(
    {
      few: (_: unknown, job) => {
        job.log.debug("mine one");
        job.log.error("mine two", { big: 10n, at: "here" });
        const circle: Record<string, unknown> = {};
        circle["self"] = circle;
        job.log.info("circle", circle);
        throw new Error("x");
      },
      many: (_: unknown, job) => {
        for (let n = 0; n < 150; n++) job.log.info(`line ${n} ${"é\u0000".repeat(3000)}`);
        throw new Error("x");
      },
    },
    { logger },
  );
  const few = await put("few", {}, { maxAttempts: 1 });
  const many = await put("many", {}, { maxAttempts: 1 });
  await until(few, "archived");
  await until(many, "archived");
  const [short] = await store.listAttempts(few);
  assert.equal(short?.logs, [
    "debug: mine one",
    'error: mine two {"big":"10","at":"here"}',
    "info: circle (fields without a JSON form)",
  ]);
  assert.equal(lines, [`debug mine one ${few} `, `error mine two ${few} here`]);
  const [long] = await store.listAttempts(many);
  const logs = long?.logs as string[];
  assert.is(logs.length, 100);
  assert.match(logs[0] ?? "", /^info: line 50 é\u2400/);
  assert.match(logs[99] ?? "", /^info: line 149 /);
  assert.ok(logs.every((line) => Buffer.byteLength(line) <= 2048));
});

test("progress and output are there while the job runs", async ({ store, run, put, until }) => {
  let go!: () => void;
  const asked = new Promise<void>((resolve) => (go = resolve));
  const refused: Error[] = [];
  await run({
    work: async (_: unknown, job) => {
      await job.progress(1, 4);
      await job.progress(2, 4, `half\u0000${"ü".repeat(400)}`);
      await job.output({ rows: 1 });
      await job.output({ rows: 2 });
      refused.push(await refusal(() => job.progress(5, 4)));
      refused.push(await refusal(() => job.output(() => 1)));
      await asked;
    },
  });
  const id = await put("work");
  await eventually("the handler has come to its end", () => refused.length === 2);
  const progress = await store.getJobProgress(id);
  assert.equal([progress?.current, progress?.total], [2, 4]);
  assert.match(progress?.message ?? "", /^half\u2400ü+$/);
  assert.ok(Buffer.byteLength(progress?.message ?? "") <= 512);
  assert.is((await store.getJobOutput(id))?.bytes.toString(), '{"rows":2}');
  assert.match(refused[0]?.message ?? "", /progress|current|total/);
  assert.match(refused[1]?.message ?? "", /no JSON form/);
  go();
  await until(id, "completed");
});

test("a cursor is where the next attempt goes on", async ({ run, put, until }) => {
  const done: number[] = [];
  const starts: unknown[] = [];
  let wrong: Error | undefined;
  await run({
    walk: task({
      retryDelay: () => 0,
      async handler(_: unknown, job) {
        starts.push(job.cursor());
        const from = (cursor: number | undefined): number[] =>
          [1, 2, 3, 4, 5].filter((n) => n > (cursor ?? 0));
        await job.forEach(
          from,
          (n) => n,
          (n) => {
            if (n === 4 && job.attempt === 0) throw new Error("died at 4");
            done.push(n);
          },
        );
        wrong = await refusal(() => job.saveCursor(undefined));
      },
    }),
  });
  const id = await put("walk");
  await until(id, "completed");
  assert.equal(done, [1, 2, 3, 4, 5]);
  assert.equal(starts, [undefined, 3]);
  assert.instance(wrong, TypeError);
});

test("forEach stops where the handler is told to, and gives its source the chance to close", async ({
  store,
  run,
  put,
  until,
}) => {
  let closed = false;
  const done: number[] = [];
  await run({
    walk: task({
      timeout: "150ms",
      async handler(_: unknown, job) {
        await job.forEach(
          async function* () {
            try {
              for (let n = 0; ; n++) {
                await sleep(20);
                yield n;
              }
            } finally {
              closed = true;
            }
          },
          (n) => n,
          (n) => void done.push(n),
        );
      },
    }),
  });
  const id = await put("walk", {}, { maxAttempts: 1 });
  await until(id, "archived");
  assert.ok(closed);
  assert.match((await store.listAttempts(id))[0]?.error ?? "", /took longer than its timeout of 150 ms/);
  const saved = await store.getJobCheckpoint(id);
  assert.is(JSON.parse(saved?.cursor?.toString() ?? "null"), done.at(-1));
});

test("rateLimited pauses the job's classes in the whole fleet, and no other", async ({
  store,
  run,
  put,
  until,
}) => {
  const ran: string[] = [];
  let told = 0;
  const tasks = {
    call: async (payload: unknown, job: JobContext) => {
      if (payload === "first" && told++ === 0) return job.rateLimited("1h");
      ran.push(payload as string);
    },
  };
  await run(tasks, { concurrency: 1, workerId: "one", poll: { max: "50ms" } });
  const first = await put("call", "first", { rateClass: "smtp" });
  await until(first, "available");
  await eventually("was told", () => told === 1);
  await run(tasks, { concurrency: 4, workerId: "two", poll: { max: "50ms" } });
  const second = await put("call", "second", { rateClasses: ["smtp", "other"] });
  const others = [await put("call", "no class"), await put("call", "another class", { rateClass: "http" })];
  for (const id of others) await until(id, "completed");
  await sleep(300);
  assert.equal(ran.sort(), ["another class", "no class"]);
  for (const id of [first, second]) {
    const waiting = await store.getJob(id);
    assert.equal([waiting?.state, waiting?.attempt, waiting?.crashAttempt], ["available", 0, 0]);
  }
  const deferred = (await store.rateClasses()).find(({ name }) => name === "smtp");
  assert.ok((deferred?.deferredUntilMs ?? 0) > Date.now() + 3_000_000);
});

test("behind a deferral the jobs run; one without a class is put off", async ({
  database,
  store,
  run,
  put,
  until,
}) => {
  const told = new Set<string>();
  const limited = (_: unknown, job: JobContext): unknown =>
    told.has(job.id) ? undefined : (told.add(job.id), job.rateLimited("30s"));
  await run({ call: limited }, { poll: { max: "50ms" } });
  const classed = await put("call", {}, { rateClass: "smtp" });
  const plain = await put("call");
  await until(plain, "scheduled");
  await eventually("both were told", () => told.size === 2);
  assert.is((await store.getJob(plain))?.attempt, 0);
  await moveClock(database, 31_000);
  await until(classed, "completed");
  await until(plain, "completed");
});

test("wrong ends are errors of the handler", async ({ store, run, put, until }) => {
  await run({
    zero: (_: unknown, job) => job.snooze(0),
    text: (_: unknown, job) => job.snooze("soon"),
    limited: (_: unknown, job) => job.rateLimited(-1),
    weight: (_: unknown, job) => job.actualWeight(1.5),
    negative: (_: unknown, job) => job.actualWeight(-1),
    extend: (_: unknown, job) => job.extendLease("never"),
    // An end that the store refuses: a failed attempt, not a lost lease.
    endless: (_: unknown, job) => job.snooze(Number.MAX_SAFE_INTEGER),
    heavy: (_: unknown, job) => job.actualWeight(2 ** 40),
  });
  for (const kind of ["zero", "text", "limited", "weight", "negative", "extend", "endless", "heavy"]) {
    const id = await put(kind, {}, { maxAttempts: 1 });
    await until(id, "archived");
    const job = await store.getJob(id);
    assert.equal([kind, job?.attempt, job?.crashAttempt], [kind, 1, 0]);
    const { error } = (await store.listAttempts(id))[0] ?? {};
    assert.match(error ?? "", kind === "zero" ? /at least 1 ms/ : /delay|duration|weight|refused/, kind);
  }
});

test("what a job has really taken of its class is settled with it", async ({ store, run, put, until }) => {
  await store.upsertRateClass({ name: "api", limitPerWindow: 10, windowMs: 3_600_000, burst: 10 });
  await run({
    cheap: (_: unknown, job) => job.actualWeight(1),
    failing: (_: unknown, job) => {
      job.actualWeight(0);
      throw new Error("before the call");
    },
    plain: () => undefined,
  });
  const tokens = async (): Promise<number> =>
    Math.round((await store.rateClasses()).find(({ name }) => name === "api")?.tokens ?? -1);
  await until(await put("cheap", {}, { rateClass: "api", weight: 5 }), "completed");
  assert.is(await tokens(), 9);
  await until(await put("failing", {}, { rateClass: "api", weight: 5, maxAttempts: 1 }), "archived");
  assert.is(await tokens(), 9);
  await until(await put("plain", {}, { rateClass: "api", weight: 5 }), "completed");
  assert.is(await tokens(), 4);
});

test("extendLease makes the lease last, and no renewal shortens it", async ({ store, run, put, until }) => {
  let go!: () => void;
  const asked = new Promise<void>((resolve) => (go = resolve));
  const errors: Error[] = [];
  await run(
    {
      long: async (_: unknown, job) => {
        await job.extendLease("1h");
        await job.extendLease("1s");
        await asked;
        await store.operatorCancel(job.id);
        errors.push(await refusal(() => job.extendLease("1h")));
        assert.is(job.signal.reason, errors[0]);
      },
    },
    { lease: "300ms", duties: false },
  );
  const id = await put("long");
  await eventually("it is extended", async () => {
    const job = await store.getJob(id);
    return (job?.leaseExpiresAtMs ?? 0) > Date.now() + 3_000_000;
  });
  await sleep(600);
  assert.ok(((await store.getJob(id))?.leaseExpiresAtMs ?? 0) > Date.now() + 3_000_000);
  go();
  await eventually("it was refused", () => errors.length === 1);
  assert.instance(errors[0], LeaseLostError);
  await until(id, "cancelled");
});

test("rateLimited may be thrown, awaited or not", async ({ store, put, run, until }) => {
  await store.upsertRateClass({ name: "thrown", limitPerWindow: 100, windowMs: 1000, burst: 100 });
  let calls = 0;
  await run({
    limited: async (_: unknown, job) => {
      calls++;
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- what this is about
      if (calls === 1) throw job.rateLimited(10);
      if (calls === 2) throw await job.rateLimited(10);
    },
  });
  const id = await put("limited", {}, { rateClass: "thrown" });
  await until(id, "completed");
  assert.is(calls, 3);
  assert.is((await store.getJob(id))?.attempt, 0);
});

test("what nobody awaits and what can't be looked at ends no process", async ({ store, put, run, until }) => {
  const unhandled: unknown[] = [];
  const hear = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", hear);
  try {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    await run({
      progress: (_: unknown, job) => void job.progress(2, 1),
      proxy: () => {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- what this is about
        throw proxy;
      },
    });
    const ids = [await put("progress"), await put("proxy", {}, { maxAttempts: 1 })];
    await until(ids[0]!, "completed");
    await until(ids[1]!, "archived");
    assert.match((await store.listAttempts(ids[1]!))[0]?.error ?? "", /can't be looked at/);
  } finally {
    process.off("unhandledRejection", hear);
  }
  assert.equal(unhandled, []);
});

test.run();
