import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, task } from "../../../src/index.js";
import { dropTestSchemas, testQueue, TestQueue } from "../../../src/testing/index.js";
import { testDatabase } from "../support/database.js";
import { failure } from "./support.js";

const runs = suite("runJob");
const database = await testDatabase({ installed: false });
const { url } = database;

const did: string[] = [];
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const tasks = {
  double: ({ n }: { n: number }) => n * 2,
  nothing: () => undefined,
  fail: task<{ why: string }>({
    retryDelay: () => "5m",
    handler({ why }, job) {
      job.log.info("about to fail", { why });
      throw new TypeError(why);
    },
  }),
  snooze: task((_payload, job) => job.snooze("10m")),
  skip: task((_payload, job) => job.skip("not today")),
  revoke: task((_payload, job) => job.revoke()),
  once: task(async (_payload, job) => {
    job.log.info("in between");
    await job.once(async () => ({ n: 1 }));
  }),
  hang: task(
    async (_payload, job) => void (await sleep(60_000, undefined, { signal: job.signal }).catch(() => 0)),
  ),
  steal: task(async (_payload, job) => {
    await new PgStore(database.pool, { schema: stealFrom }).operatorCancel(job.id);
    await job.progress(1, 2);
  }),
  order: task<{ customer: string }>(async ({ customer }, job) => {
    const receipt = await job.step("charge", () => (did.push(`charge ${customer}`), "r-1"));
    const parcel = await job.step("ship", () => (did.push(`ship for ${receipt}`), { parcel: 7 }));
    await job.step("mail", () => void did.push(`mail about ${parcel.parcel}`));
    return { receipt, parcel };
  }),
  copy: task<{ until: number }>(async ({ until }, job) => {
    const numbers = (after = 0) => Array.from({ length: until - after }, (_, n) => after + n + 1);
    await job.forEach(
      numbers,
      (n) => n,
      (n) => void did.push(`copy ${n}`),
    );
  }),
  picky: task<{ n: number }, number>({
    schema: {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value) =>
          typeof (value as { n: unknown }).n === "number"
            ? { value: value as { n: number } }
            : { issues: [{ message: "must be a number", path: ["n"] }] },
      },
    },
    handler: ({ n }) => n,
  }),
};
let stealFrom = "";

const open = () => testQueue({ url, tasks, worker: { logger: silent } });

runs("a new job: what it returned, and that it is gone", async () => {
  await using queue = await open();
  const run = await queue.runJob({ kind: "double", payload: { n: 21 } });
  assert.equal(run, {
    id: "j0000000000000001",
    kind: "double",
    queue: "default",
    attempt: 0,
    outcome: "success",
    state: "deleted",
    result: 42,
    error: undefined,
    thrown: undefined,
    logs: [],
  });
  assert.is(await queue.store.getJob(run.id), null);
  const kept = await queue.runJob({ kind: "nothing", options: { retention: "1h", queue: "other" } });
  assert.is(kept.state, "completed");
  assert.is(kept.queue, "other");
  assert.is(kept.result, undefined);
  assert.is((await queue.store.getJob(kept.id))?.state, "completed");
});

runs("one that was enqueued, by its id, whatever stands before it in line", async () => {
  await using queue = await open();
  await queue.client.enqueue("fail", { why: "first in line" }, { priority: 9 });
  const { id } = await queue.client.enqueue("double", { n: 1 });
  const run = await queue.runJob(id);
  assert.is(run.id, id);
  assert.is(run.result, 2);
  assert.is((await queue.enqueued()).length, 1, "the other was not touched");
  assert.is((await queue.assertEnqueued({ kind: "fail" })).fence, 0n);
});

runs("a failure is an outcome: error, what was thrown, logs, and another attempt", async () => {
  await using queue = await open();
  const run = await queue.runJob({ kind: "fail", payload: { why: "no reason" } });
  assert.is(run.outcome, "retry");
  assert.is(run.state, "retryable");
  assert.match(run.error ?? "", /^TypeError: no reason/);
  assert.instance(run.thrown, TypeError);
  assert.equal(run.logs, ['info: about to fail {"why":"no reason"}']);
  const [attempt] = await queue.store.listAttempts(run.id);
  assert.match(attempt?.error ?? "", /no reason/);
  const early = await failure(queue.runJob(run.id));
  assert.match(early.message, /^the job j0000000000000001 can't run now: it is retryable, due at 2.*advance/);
  await queue.advance("5m");
  assert.is((await queue.runJob(run.id)).attempt, 1);
  const last = await queue.runJob({ kind: "fail", payload: { why: "x" }, options: { maxAttempts: 1 } });
  assert.is(last.state, "archived");
});

runs("the other endings", async () => {
  await using queue = await open();
  assert.is((await queue.runJob({ kind: "snooze" })).state, "scheduled");
  const skipped = await queue.runJob({ kind: "skip" });
  assert.equal([skipped.outcome, skipped.state, skipped.error], ["skip", "archived", "not today"]);
  const revoked = await queue.runJob({ kind: "revoke" });
  assert.equal([revoked.outcome, revoked.state], ["revoke", "deleted"]);
  const once = await queue.runJob({ kind: "once", options: { retention: "1h" } });
  assert.equal([once.outcome, once.state], ["success", "completed"]);
  assert.equal([once.result, once.logs], [{ n: 1 }, ["info: in between"]]);
  stealFrom = queue.schema;
  const stolen = await queue.runJob({ kind: "steal" });
  assert.equal([stolen.outcome, stolen.state], ["lost", "cancelled"]);
});

runs("what the task's schema refuses does not come in, and bytes that are none end undecodable", async () => {
  await using queue = await open();
  const refused = await failure(queue.runJob({ kind: "picky", payload: { n: "one" as never } }));
  assert.is(refused.message, "the payload of picky is invalid: n: must be a number");
  const [job] = await queue.store.enqueue([{ kind: "picky", payload: Buffer.from("{") }]);
  const run = await queue.runJob(job!.id);
  assert.equal([run.outcome, run.state], ["undecodable", "undecodable"]);
});

runs("middleware and lease of the application's worker hold", async () => {
  const seen: string[] = [];
  const queue = await testQueue({
    url,
    tasks,
    worker: {
      logger: silent,
      lease: "7s",
      workerId: "mine",
      middleware: [
        async (job, next) => {
          const { claimedBy, leaseExpiresAtMs, claimedAtMs } = (await queue.store.getJob(job.id))!;
          seen.push(`${claimedBy} ${Math.round((leaseExpiresAtMs! - claimedAtMs!) / 1000)}`);
          return next();
        },
      ],
    },
  });
  await queue.runJob({ kind: "nothing" });
  assert.equal(seen, ["mine 7"]);
  await queue.close();
});

runs("steps that are done are skipped, and their results given back", async () => {
  await using queue = await open();
  did.length = 0;
  const job = { kind: "order", payload: { customer: "ada" } } as const;
  const whole = await queue.runJob(job);
  assert.equal(did.splice(0), ["charge ada", "ship for r-1", "mail about 7"]);
  assert.equal(whole.result, { receipt: "r-1", parcel: { parcel: 7 } });
  const behind = await queue.runJob(job, { steps: { charge: "r-9" } });
  assert.equal(did.splice(0), ["ship for r-9", "mail about 7"]);
  assert.equal(behind.result, { receipt: "r-9", parcel: { parcel: 7 } });
  const { id } = await queue.client.enqueue("order", { customer: "bob" });
  const last = await queue.runJob(id, { steps: { charge: "r-2", ship: { parcel: 8 } } });
  assert.equal(did.splice(0), ["mail about 8"]);
  assert.is(last.attempt, 0);
  assert.is(last.outcome, "success");
});

runs("a cursor says where to begin", async () => {
  await using queue = await open();
  did.length = 0;
  const job = { kind: "copy", payload: { until: 4 } } as const;
  await queue.runJob(job, { cursor: 2 });
  assert.equal(did.splice(0), ["copy 3", "copy 4"]);
  await queue.runJob(job);
  assert.is(did.splice(0).length, 4);
});

runs("steps that the handler does not have are told", async () => {
  await using queue = await open();
  const run = await queue.runJob({ kind: "order", payload: { customer: "ada" } }, { steps: { chrage: 1 } });
  assert.is(run.outcome, "checkpoint_stale");
  assert.match(run.error ?? "", /step "charge" was not there when this attempt had not come by chrage/);
  assert.is(run.state, "undecodable");
});

runs("a handler that does not end fails the test", async () => {
  await using queue = await open();
  const error = await failure(queue.runJob({ kind: "hang" }, { timeout: 200 }));
  assert.is(error.message, "the handler of hang has not ended after 200 ms (job j0000000000000001)");
  assert.is((await queue.store.getJob("j0000000000000001"))?.state, "available", "and is handed back");
});

runs("what can't run is refused, with the reason", async () => {
  await using queue = await open();
  assert.is((await failure(queue.runJob("gone"))).message, "there is no job gone");
  await queue.store.setQueuePaused("default", true);
  const { id } = await queue.client.enqueue("nothing");
  assert.match((await failure(queue.runJob(id))).message, /can't run now: it is available, .*paused/);
  const done = await queue.runJob({ kind: "nothing", options: { queue: "q", retention: "1h" } });
  assert.match((await failure(queue.runJob(done.id))).message, /it is completed/);
  assert.match(
    (await failure(queue.runJob(7 as never))).message,
    /takes the id of a job, or \{ kind, .*not 7/,
  );
  await using bare = await testQueue({ url });
  assert.match((await failure(bare.runJob(id))).message, /no handlers.*testQueue\(\{ tasks/);
});

runs("a store of one's own will do", async () => {
  await using made = await open();
  const queue = new TestQueue(new PgStore(made.pool, { schema: made.schema }), { tasks });
  assert.is((await queue.runJob({ kind: "double", payload: { n: 2 } })).result, 4);
  await queue.close();
  assert.is((await made.runJob({ kind: "double", payload: { n: 3 } })).result, 6, "it is still open");
});

runs.after(async () => {
  await dropTestSchemas({ url });
  await database.close();
});
runs.run();

/** Tested by the compiler. */
export async function compiled(queue: TestQueue<typeof tasks>): Promise<void> {
  await queue.runJob({ kind: "double", payload: { n: 1 } });
  // @ts-expect-error wrong payload
  await queue.runJob({ kind: "double", payload: { n: "1" } });
  // @ts-expect-error unknown kind
  await queue.runJob({ kind: "treble", payload: { n: 1 } });
  await queue.assertEnqueued({ kind: "order", payload: { customer: "ada" } });
  // @ts-expect-error not a field of the payload
  await queue.assertEnqueued({ kind: "order", payload: { client: "ada" } });
  // @ts-expect-error not a field of a job
  await queue.refuteEnqueued({ kind: "order", quue: "a" });
}
