import { setTimeout as sleep } from "node:timers/promises";
import * as assert from "uvu/assert";
import { task } from "../../../src/index.js";
import { Releases } from "../../../src/worker/releases.js";
import { eventually } from "../support/eventually.js";
import { moveClock } from "../support/jobs.js";
import { attemptOf } from "./fakes.js";
import { workerSuite } from "./support.js";

const test = workerSuite("jobs handed back");
/** Nothing that a test waits for. */
const hour = 3_600_000;

for (const [how, back] of [
  ["release()", (_: unknown, job: { release(): unknown }) => job.release()],
  [
    "an error that is no failure, with a delay of 0",
    task({
      isFailure: () => false,
      retryDelay: () => 0,
      handler: () => {
        throw new Error("busy");
      },
    }),
  ],
] as const) {
  test(`${how}: the job is claimed twice, and then held while others run`, async ({
    client,
    store,
    run,
    put,
  }) => {
    const id = await put("back", {}, { priority: 9 });
    const others = Array.from({ length: 60 }, () => ({ kind: "other", payload: {} }));
    await client.enqueueMany(others);
    const calls = { back: 0, other: 0, left: others.length };
    const one = await run(
      {
        back,
        other: async () => {
          // There is always something else to claim, until it has been claimed twice.
          if (calls.back < 2) calls.left += (await client.enqueueMany(others.slice(0, 1))).length;
          calls.left--;
        },
      },
      {
        concurrency: 2,
        poll: { min: hour, max: hour },
        middleware: [(job, next) => (calls[job.kind as "back" | "other"]++, next())],
      },
    );
    await eventually("the others have run", () => calls.left === 0);
    assert.is(calls.back, 2);
    const held = await store.getJob(id);
    assert.equal([held?.state, held?.fence, held?.attempt], ["running", 2n, 0]);
    // A drain does not wait for it.
    await one.stop();
    const after = await store.getJob(id);
    assert.equal([after?.state, after?.fence, after?.attempt], ["available", 2n, 0]);
  });
}

test("a job is held from its second time in a row on; being told to stop ends that", async () => {
  const releases = new Releases({ poll: { min: hour, max: hour } });
  const [one, other] = [attemptOf("one", hour), attemptOf("other", hour)];
  const ended: string[] = [];
  const pace = (attempt: typeof one, name: string): Promise<unknown> =>
    releases.pace(attempt).then(() => ended.push(name));
  await Promise.all([pace(one, "one"), pace(other, "other")]);
  const held = [pace(one, "one again"), pace(other, "other again")];
  await sleep(20);
  assert.equal(ended, ["one", "other"]);
  one.abort.abort(new Error("lost"));
  await held[0];
  assert.equal(ended, ["one", "other", "one again"]);
  releases.close();
  await Promise.all(held);
  await pace(other, "behind the end");
  assert.is(ended.length, 5);
});

test("an error that is no failure puts the job off for a second where its task does not say", async ({
  database,
  run,
  put,
  until,
  store,
}) => {
  const ends: string[] = [];
  const one = await run({
    busy: task({
      isFailure: () => false,
      handler: () => {
        if (ends.length === 0) throw new Error("busy");
      },
    }),
  });
  one.on("job:settled", ({ outcome, state }) => ends.push(`${outcome} ${state}`));
  const id = await put("busy", {}, { scheduledAt: 0 });
  await eventually("it has ended once", () => ends.length > 0);
  const { scheduledAtMs, enqueuedAtMs } = (await store.getJob(id))!;
  assert.ok(scheduledAtMs >= enqueuedAtMs + 1000, "put off by 1 s");
  await moveClock(database, 1000);
  await until(id, "completed");
  assert.equal(ends, ["snooze scheduled", "success completed"]);
  assert.is((await store.getJob(id))?.attempt, 0);
});

test.run();
