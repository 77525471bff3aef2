import { suite } from "uvu";
import * as assert from "uvu/assert";
import { task } from "../../../src/index.js";
import { dropTestSchemas, testQueue, type JobRun } from "../../../src/testing/index.js";
import { testDatabase } from "../support/database.js";
import { failure } from "./support.js";

const drains = suite("drain");
const database = await testDatabase({ installed: false });
const { url } = database;

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const open = () => {
  const order: string[] = [];
  const queue = testQueue({
    url,
    worker: { logger: silent },
    tasks: {
      note: ({ text }: { text: string }) => void order.push(text),
      tree: task<{ depth: number }>(async ({ depth }) => {
        order.push(`tree ${depth}`);
        if (depth === 0) return;
        for (const queueName of ["left", "right"]) {
          await (await queue).client.enqueue("tree", { depth: depth - 1 }, { queue: queueName });
        }
      }),
      again: task(async () => void (await (await queue).client.enqueue("again"))),
      flaky: task({
        retryDelay: () => "10m",
        handler: (_payload: { until: number }, job) => {
          if (job.attempt < _payload.until) throw new Error(`attempt ${job.attempt}`);
          return "done";
        },
      }),
      batch: task<{ n: number }>({
        batch: { maxSize: 10 },
        batchHandler: (jobs) => jobs.map(({ payload }) => payload.n * 10),
      }),
    },
  });
  return queue.then((made) => Object.assign(made, { order }));
};
const shapes = (runs: readonly JobRun[]): string[] => runs.map(({ kind, outcome }) => `${kind} ${outcome}`);

drains("nothing to do is nothing done", async () => {
  await using queue = await open();
  assert.equal(await queue.drain(), []);
});

drains("one at a time by priority, in every queue, with the jobs that they enqueue", async () => {
  await using queue = await open();
  await queue.client.enqueue("note", { text: "second" });
  await queue.client.enqueue("note", { text: "first" }, { priority: 5 });
  await queue.drain();
  assert.equal(queue.order.splice(0), ["first", "second"]);
  await queue.client.enqueue("tree", { depth: 2 });
  const runs = await queue.drain();
  assert.is(runs.length, 7);
  assert.equal(queue.order.splice(0).sort(), [
    "tree 0",
    "tree 0",
    "tree 0",
    "tree 0",
    "tree 1",
    "tree 1",
    "tree 2",
  ]);
  assert.equal([...new Set(runs.map((run) => run.queue))].sort(), ["default", "left", "right"]);
  await queue.refuteEnqueued();
});

drains("only some queues; paused ones and what is not due stay", async () => {
  await using queue = await open();
  for (const name of ["a", "b", "closed"])
    await queue.client.enqueue("note", { text: name }, { queue: name });
  await queue.client.enqueue("note", { text: "later" }, { delay: "1h" });
  await queue.store.setQueuePaused("closed", true);
  await queue.drain({ queues: ["b"] });
  assert.equal(queue.order.splice(0), ["b"]);
  await queue.drain();
  assert.equal(queue.order.splice(0), ["a"]);
  assert.is((await queue.enqueued()).length, 2);
});

drains("failures are outcomes, and their retries wait for their time", async () => {
  await using queue = await open();
  await queue.client.enqueue("flaky", { until: 2 });
  assert.equal(shapes(await queue.drain()), ["flaky retry"]);
  assert.equal(await queue.drain(), []);
  await queue.advance("10m");
  assert.equal(shapes(await queue.drain()), ["flaky retry"]);
  await queue.advance("10m");
  const [last] = await queue.drain();
  assert.equal([last?.outcome, last?.attempt, last?.result], ["success", 2, "done"]);
});

drains("within a time, which passes: retries, delays and schedules", async () => {
  await using queue = await open();
  const began = await queue.now();
  await queue.client.enqueue("flaky", { until: 2 });
  await queue.client.enqueue("note", { text: "in an hour" }, { delay: "1h" });
  await queue.client.enqueue("note", { text: "in a day" }, { delay: "1d" });
  await queue.store.upsertSchedule({
    id: "s",
    spec: "@every:1200000",
    kind: "note",
    payload: { text: "tick" },
  });
  const runs = await queue.drain({ within: "65m" });
  assert.equal(
    shapes(runs).filter((shape) => shape.startsWith("flaky")),
    ["flaky retry", "flaky retry", "flaky success"],
  );
  const ticks = queue.order.filter((text) => text === "tick").length;
  assert.ok(ticks === 3 || ticks === 4, `every 20 minutes, and ${ticks} in 65`);
  assert.ok(queue.order.includes("in an hour"));
  assert.not.ok(queue.order.includes("in a day"));
  const passedMs = (await queue.now()).getTime() - began.getTime();
  assert.ok(passedMs >= 60 * 60_000 && passedMs <= 65 * 60_000 + 30_000, `${passedMs} ms`);
});

drains("jobs without end are an error that names them", async () => {
  await using queue = await open();
  await queue.client.enqueue("again");
  await queue.client.enqueue("note", { text: "a" }, { priority: 1 });
  const error = await failure(queue.drain({ maxJobs: 20 }));
  assert.is(error.message, 'more than 20 jobs ran, and there is no end: {"note":1,"again":20}');
  assert.is((await queue.enqueued({ state: "available" })).length, 1, "nothing is left running");
});

drains("a batch handler gets its jobs", async () => {
  await using queue = await open();
  await queue.client.enqueueMany([1, 2].map((n) => ({ kind: "batch", payload: { n } }) as const));
  assert.equal(
    (await queue.drain()).map(({ result }) => result),
    [10, 20],
  );
});

drains("a kind without a handler is put off, and said so", async () => {
  await using queue = await open();
  await queue.store.enqueue([{ kind: "stranger" }]);
  assert.equal(shapes(await queue.drain()), ["stranger snooze"]);
});

drains("a duty that fails fails the test", async () => {
  await using queue = await open();
  await queue.pool.query(`drop function ${queue.schema}.promote_due(integer)`);
  const error = await failure(queue.drain());
  assert.match(error.message, /the duty promote_due failed: function .*promote_due/);
  await queue.pool.query(`comment on schema ${queue.schema} is null`);
});

drains.after(async () => {
  await dropTestSchemas({ url });
  await database.close();
});
drains.run();
