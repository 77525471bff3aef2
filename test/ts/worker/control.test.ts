// timeout: 300 s
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/eventually.js";
import { effectModule, withWorkers, type WorkerSetting } from "../support/worker-setting.js";

const control = suite("control of worker processes");
const test = (name: string, body: (setting: WorkerSetting) => Promise<void>): void =>
  control(name, () => withWorkers(body));
const kept = { retentionMs: 3_600_000 };
const second = "export default () => new Promise((done) => setTimeout(done, 1_500));";
const endless = "export default () => new Promise((done) => setTimeout(done, 600_000));";

test("a first signal lets handlers finish, a second one hands everything back at once", async (setting) => {
  const { store, processes, until } = setting;
  const { work } = await processes({ "endless.mjs": endless });
  const one = await work("--grace", "10m", "--concurrency", "1");
  const [job, next] = await store.enqueue([1, 2].map(() => ({ kind: "endless", payload: {} })));
  await until(job!.id, "running");
  one.child.kill("SIGTERM");
  await eventually("it has heard", () => one.errors().includes("what runs may finish"), 60_000);
  await sleep(500);
  assert.equal([one.child.exitCode, (await store.getJob(job!.id))?.state], [null, "running"]);
  one.child.kill("SIGINT");
  assert.is(await one.ended(), 0);
  for (const { id } of [job!, next!]) {
    const { state, attempt, crashAttempt } = (await store.getJob(id))!;
    assert.equal([state, attempt, crashAttempt], ["available", 0, 0]);
  }
});

test("restart finishes what runs and ends with 4, for whoever starts it again", async ({
  store,
  processes,
  until,
}) => {
  const { work } = await processes({ "second.mjs": second });
  const one = await work("--worker-id", "w", "--lease", "900ms", "--grace", "1ms", "--concurrency", "1");
  const [job, next] = await store.enqueue([1, 2].map(() => ({ kind: "second", payload: {}, ...kept })));
  await until(job!.id, "running");
  await store.signalWorker("w", "restart");
  assert.is(await one.ended(), 4);
  assert.is((await store.getJob(job!.id))?.state, "completed");
  // A new one under the same name is not told to restart.
  const again = await work("--worker-id", "w", "--lease", "900ms");
  await until(next!.id, "completed");
  assert.is(again.child.exitCode, null);
});

test("terminate hands back what does not finish in its grace, and ends with 0", async (setting) => {
  const { store, processes, until } = setting;
  const { work } = await processes({ "endless.mjs": endless });
  const one = await work("--worker-id", "w", "--lease", "900ms", "--grace", "300ms");
  const [job] = await store.enqueue([{ kind: "endless", payload: {} }]);
  await until(job!.id, "running");
  await store.signalWorker("w", "terminate");
  assert.is(await one.ended(), 0);
  assert.is((await store.getJob(job!.id))?.state, "available");
});

test("resign gives the duties to others, and the worker works on", async (setting) => {
  const { store, database, run, until } = setting;
  const holders = async (): Promise<string[]> =>
    (
      await database.query<{ holder: string }>(
        "select distinct holder from :SCHEMA.duty where holder is not null order by 1",
      )
    ).map(({ holder }) => holder);
  const one = await run({ a: () => 1 }, { workerId: "w1", lease: "600ms" });
  await eventually("w1 does the duties", async () => (await holders()).includes("w1"));
  await run({ b: () => 1 }, { workerId: "w2", queues: ["other"], lease: "600ms" });
  await store.signalWorker("w1", "resign");
  await eventually("w2 does them, alone", async () => String(await holders()) === "w2", 60_000);
  const [job] = await store.enqueue([{ kind: "a", payload: {}, ...kept }]);
  await until(job!.id, "completed");
  assert.is(one.status().state, "running");
});

test("a process that grows beyond its ceiling finishes what it has and stops", async ({
  store,
  run,
  until,
}) => {
  const one = await run({ a: () => sleep(2_000) }, { memoryCeiling: 1, shutdownGrace: 1 });
  const [job] = await store.enqueue([{ kind: "a", payload: {}, ...kept }]);
  await until(job!.id, "running", "completed");
  assert.is(await one.stopped(), "memory");
  assert.is((await store.getJob(job!.id))?.state, "completed");
});

test("a promise that nobody handles ends the process, and costs its neighbours a lease and no attempt (R-60)", async (setting) => {
  const { store, processes, until, effects } = setting;
  const wait = (ms: number): string => `await new Promise((done) => setTimeout(done, ${ms}));`;
  const once = "await job.once((tx) => effect(tx, job));";
  const { work } = await processes({
    "careless.mjs": `${effectModule}
      export default async (_, job) => {
        if (job.crashAttempt === 0) { ${wait(700)} Promise.reject(new Error("nobody handles this")); }
        ${once}
      };`,
    "slow.mjs": `${effectModule}
      export default async (_, job) => { if (job.crashAttempt === 0) { ${wait(60_000)} } ${once} };`,
  });
  const kinds = ["careless", ...Array.from({ length: 7 }, () => "slow")];
  const jobs = await store.enqueue(kinds.map((kind) => ({ kind, payload: {}, ...kept })));
  const one = await work("--lease", "1s");
  assert.is(await one.ended(), 1);
  assert.match(one.errors(), "nobody handles this");
  await work("--lease", "1s");
  for (const { id } of jobs) await until(id, "completed");
  assert.equal((await effects()).sort(), jobs.map(({ id }) => id).sort());
  for (const { id } of jobs) {
    const { attempt, crashAttempt } = (await store.getJob(id))!;
    assert.equal([attempt, crashAttempt], [0, 1]);
  }
});

control.run();
