import { setTimeout as sleep } from "node:timers/promises";
import * as assert from "uvu/assert";
import { task, type BatchHandler, type JobContext, type Task } from "../../../src/index.js";
import { eventually } from "../support/eventually.js";
import { workerSuite, type Setting } from "./support.js";

const test = workerSuite("batches");

type Batch = Parameters<BatchHandler<number>>[0];

/** A task whose batches are remembered. */
function gathered(
  maxSize: number,
  handler: (batch: Batch) => unknown,
  more: Partial<Task<number>> = {},
): { readonly square: Task<number>; readonly batches: number[][] } {
  const batches: number[][] = [];
  const square = task<number>({
    batch: { maxSize, maxDelay: "100ms" },
    batchHandler: (batch) => {
      batches.push(batch.map(({ payload }) => payload));
      return handler(batch) as unknown[];
    },
    ...more,
  });
  return { square, batches };
}

const put = (setting: Setting, numbers: readonly number[], maxAttempts = 1): Promise<string[]> =>
  Promise.all(numbers.map((n) => setting.put("square", n, { maxAttempts })));
const states = async ({ store }: Setting, ids: readonly string[]): Promise<(string | undefined)[]> =>
  Promise.all(ids.map(async (id) => (await store.getJob(id))?.state));

test("each member has its result by its place, whatever becomes of the others", async (setting) => {
  const { square, batches } = gathered(5, (batch) =>
    batch.map(({ payload, job }) => {
      if (payload === 2) return new Error("not two");
      if (payload === 3) return job.snooze("1h");
      if (payload === 4) return job.skip("not four");
      return payload * payload;
    }),
  );
  const ids = await put(setting, [1, 2, 3, 4, 5]);
  await setting.run({ square });
  await setting.until(ids[4] ?? "", "completed");
  assert.equal(await states(setting, ids), ["completed", "archived", "scheduled", "archived", "completed"]);
  assert.is(batches.length, 1);
  for (const [at, result] of [
    [0, "1"],
    [4, "25"],
  ] as const)
    assert.is((await setting.store.getJobResult(ids[at] ?? ""))?.bytes.toString(), result);
  assert.match((await setting.store.listAttempts(ids[1] ?? ""))[0]?.error ?? "", /not two/);
});

test("a batch begins when it is full, or when its first member has waited long enough", async (setting) => {
  const { square, batches } = gathered(2, (batch) => batch.map(() => 1));
  const ids = await put(setting, [1, 2, 3, 4, 5]);
  await setting.run({ square });
  for (const id of ids) await setting.until(id, "completed");
  assert.equal(
    batches.map((batch) => batch.length),
    [2, 2, 1],
  );
});

const wrong: [string, (batch: Batch) => unknown, RegExp][] = [
  ["too few results", () => [1], /answered 3 jobs with 1 results/],
  ["too many results", () => [1, 2, 3, 4], /answered 3 jobs with 4 results/],
  ["no list", () => undefined, /answered 3 jobs with no list/],
  [
    "a throw",
    () => {
      throw new Error("all of it");
    },
    /all of it/,
  ],
  ["a rejection", () => Promise.reject(new Error("later")), /later/],
];
for (const [what, handler, reason] of wrong) {
  test(`${what}: every member has failed`, async (setting) => {
    const { square } = gathered(3, handler);
    const ids = await put(setting, [1, 2, 3]);
    await setting.run({ square });
    for (const id of ids) {
      await setting.until(id, "archived");
      assert.match((await setting.store.listAttempts(id))[0]?.error ?? "", reason);
    }
  });
}

test("an end that the handler throws is the end of every member", async (setting) => {
  const { square } = gathered(2, ([first]) => {
    throw first!.job.snooze("1h");
  });
  const ids = await put(setting, [1, 2]);
  await setting.run({ square });
  for (const id of ids) await setting.until(id, "scheduled");
  assert.is((await setting.store.getJob(ids[0] ?? ""))?.attempt, 0);
});

test("a member that is cancelled loses its lease, and its result counts for nothing; the others go on", async (setting) => {
  let seen: readonly JobContext[] = [];
  let go!: () => void;
  const asked = new Promise<void>((resolve) => (go = resolve));
  const { square } = gathered(3, async (batch) => {
    seen = batch.map(({ job }) => job);
    await asked;
    return batch.map(({ payload }) => payload);
  });
  const ids = await put(setting, [1, 2, 3]);
  const lost: string[] = [];
  const one = await setting.run({ square }, { lease: "300ms", duties: false });
  one.on("job:lost", ({ job }) => lost.push(job.id));
  await eventually("the batch runs", () => seen.length === 3);
  const cancelled = seen[1]!;
  await setting.store.operatorCancel(cancelled.id);
  await eventually("it is told", () => cancelled.signal.aborted);
  assert.not.ok(seen[0]?.signal.aborted || seen[2]?.signal.aborted);
  go();
  for (const id of ids) await setting.until(id, id === cancelled.id ? "cancelled" : "completed");
  assert.equal(lost, [cancelled.id]);
});

test("a member that is told to stop while the batch gathers leaves it", async (setting) => {
  const { square, batches } = gathered(3, (batch) => batch.map(() => 1), {
    batch: { maxSize: 3, maxDelay: "10s" },
  });
  const early = await setting.put("square", 1, { timeout: "200ms", maxAttempts: 1 });
  const one = await setting.run({ square });
  const stuck: string[] = [];
  one.on("job:stuck", ({ job }) => stuck.push(job.id));
  await setting.until(early, "archived");
  assert.match((await setting.store.listAttempts(early))[0]?.error ?? "", /timeout of 200 ms$/);
  const ids = await put(setting, [2, 3, 4]);
  for (const id of ids) await setting.until(id, "completed");
  assert.equal(
    batches.map((batch) => [...batch].sort()),
    [[2, 3, 4]],
  );
  assert.equal(stuck, []);
});

test("each member has a lease, a timeout, steps and a log of its own", async (setting) => {
  const { square } = gathered(
    2,
    (batch) =>
      Promise.all(
        batch.map(async ({ payload, job }) => {
          job.log.info(`member ${payload}`);
          await job.step("half", () => payload);
          await job.progress(payload, 10);
          if (payload === 2) await sleep(60_000, undefined, { signal: job.signal }).catch(() => undefined);
          return payload;
        }),
      ),
    { retryDelay: () => 0 },
  );
  const fine = await setting.put("square", 1, { maxAttempts: 1 });
  const slow = await setting.put("square", 2, { maxAttempts: 1, timeout: "300ms" });
  await setting.run({ square });
  await setting.until(slow, "archived");
  await setting.until(fine, "completed");
  const [attempt] = await setting.store.listAttempts(slow);
  assert.equal(attempt?.logs, ["info: member 2"]);
  assert.match(attempt?.error ?? "", /timeout of 300 ms/);
  assert.is((await setting.store.getJobProgress(fine))?.current, 1);
  assert.equal((await setting.store.getJobCheckpoint(fine))?.checkpoint.completed, ["half"]);
});

test("stop does not wait for a batch that still gathers", async (setting) => {
  const { square, batches } = gathered(100, (batch) => batch.map(() => 1), {
    batch: { maxSize: 100, maxDelay: "1h" },
  });
  const ids = await put(setting, [1, 2]);
  const one = await setting.run({ square });
  await eventually("they run", () => one.status().running === 2);
  await one.stop({ timeout: "50ms" });
  assert.equal(await states(setting, ids), ["available", "available"]);
  assert.equal(batches, []);
  assert.is(one.status().running, 0);
});

test.run();
