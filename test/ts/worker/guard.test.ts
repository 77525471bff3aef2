// timeout: 300 s
import { spawn } from "node:child_process";
import { once as onceEvent } from "node:events";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root } from "../../../scripts/lib/source.js";
import { eventually } from "../support/eventually.js";
import { effectModule, withWorkers, type WorkerSetting } from "../support/worker-setting.js";

const guard = suite("the guard of a worker process");
const test = (name: string, body: (setting: WorkerSetting) => Promise<void>): void =>
  guard(name, () => withWorkers(body));
const kept = { retentionMs: 3_600_000 };
const once = "await job.once((tx) => effect(tx, job));";
const wait = (ms: number): string => `await new Promise((done) => setTimeout(done, ${ms}));`;
const slow = `${effectModule} export default async (_, job) => { ${wait(3_000)} ${once} };`;

for (const [name, fault] of [
  ["a promise that nobody handles", 'Promise.reject(new Error("nobody caught this one"));'],
  ["an error thrown in a timer", 'setTimeout(() => { throw new Error("nobody caught this one"); });'],
] as const) {
  test(`${name} lets the neighbours finish, and then the process exits with 1 (R-60)`, async (setting) => {
    const { store, processes, effects } = setting;
    const { work } = await processes({
      "careless.mjs": `${effectModule} export default async (_, job) => { ${wait(700)} ${fault} ${once} };`,
      "slow.mjs": slow,
    });
    const kinds = ["careless", ...Array.from({ length: 7 }, () => "slow"), "slow"];
    const jobs = await store.enqueue(
      kinds.map((kind, at) => ({ kind, payload: {}, priority: -at, ...kept })),
    );
    const one = await work("--guard", "--concurrency", "8", "--grace", "2m");
    assert.is(await one.ended(), 1);
    assert.match(one.errors(), "nobody caught this one");
    const last = jobs.pop()!;
    for (const { id } of jobs) {
      const { state, attempt, crashAttempt, fence } = (await store.getJob(id))!;
      assert.equal([state, attempt, crashAttempt, fence], ["completed", 0, 0, 1n]);
    }
    assert.equal((await effects()).sort(), jobs.map(({ id }) => id).sort());
    // The process claimed nothing after the fault, and holds nothing.
    assert.is((await store.getJob(last.id))?.state, "available");
  });
}

test("what does not end in the grace is left to its lease, and counts a crash", async (setting) => {
  const { store, processes, run, until } = setting;
  const { work } = await processes({
    "lost.mjs": `export default (_, job) => new Promise((done) => {
      if (job.crashAttempt > 0) done();
      else setTimeout(() => { throw new Error("nobody caught this one"); }, 200);
    });`,
  });
  const [job] = await store.enqueue([{ kind: "lost", payload: {}, ...kept }]);
  const one = await work("--guard", "--lease", "1s", "--grace", "1s");
  assert.is(await one.ended(), 1);
  assert.is((await store.getJob(job!.id))?.state, "running");
  await run({ lost: () => 1 }, { lease: "1s" });
  await until(job!.id, "completed");
  const { attempt, crashAttempt } = (await store.getJob(job!.id))!;
  assert.equal([attempt, crashAttempt], [0, 1]);
});

/** Goes on when the process is told to stop; says that it has begun. */
const told = `const told = () => { console.error("begun"); return new Promise((done) => process.once("SIGTERM", done)); };`;
const begun = (errors: string): number => errors.split("begun").length - 1;

test("a guarded process that is told to stop drains and exits with 0", async (setting) => {
  const { store, processes, effects } = setting;
  const { work } = await processes({
    "slow.mjs": `${effectModule} ${told} export default async (_, job) => { await told(); ${wait(500)} ${once} };`,
  });
  const jobs = await store.enqueue(["a", "b", "c"].map((id) => ({ kind: "slow", id, payload: {}, ...kept })));
  const one = await work("--guard", "--concurrency", "2", "--grace", "2m");
  await eventually("two have begun", () => begun(one.errors()) === 2, 60_000);
  one.child.kill("SIGTERM");
  assert.is(await one.ended(), 0, one.errors());
  assert.equal((await effects()).sort(), ["a", "b"]);
  assert.is((await store.getJob(jobs[2]!.id))?.state, "available");
});

test("a fault while it drains: the others finish, and it exits with 1", async (setting) => {
  const { store, processes, effects } = setting;
  const { work } = await processes({
    "careless.mjs": `${told} export default async () => {
      await told(); setTimeout(() => { throw new Error("nobody caught this one"); }); ${wait(200)} };`,
    "slow.mjs": `${effectModule} ${told} export default async (_, job) => { await told(); ${wait(2_000)} ${once} };`,
  });
  await store.enqueue(["careless", "slow"].map((kind) => ({ kind, id: kind, payload: {}, ...kept })));
  const one = await work("--guard", "--grace", "2m");
  await eventually("both have begun", () => begun(one.errors()) === 2, 60_000);
  one.child.kill("SIGTERM");
  assert.is(await one.ended(), 1, one.errors());
  assert.match(one.errors(), "nobody caught this one");
  assert.equal(await effects(), ["slow"]);
  for (const id of ["careless", "slow"]) assert.is((await store.getJob(id))?.state, "completed");
});

test("behind the drain of a fault, what a program has left open holds it no longer", async (setting) => {
  const { database, store, effects } = setting;
  const program = `import { PgStore, Worker } from "./src/index.ts";
    ${effectModule}
    const store = await PgStore.connect(process.env.DATABASE_URL, { schema: ${JSON.stringify(database.schema)} });
    const handler = async (_, job) => { Promise.reject(new Error("nobody caught this one")); ${wait(500)} ${once} };
    await new Worker(store, { tasks: { careless: handler }, guard: true, shutdownGrace: "2m" }).start();
    setInterval(() => {}, 1000);`;
  await store.enqueue([{ kind: "careless", id: "careless", payload: {}, ...kept }]);
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: database.url },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
  try {
    const [code] = (await onceEvent(child, "exit")) as [number | null];
    assert.is(code, 1, errors);
    assert.match(errors, "nobody caught this one");
    assert.equal(await effects(), ["careless"]);
  } finally {
    child.kill("SIGKILL");
  }
});

test("it is off by default, and gone when the worker has stopped", async ({ run }) => {
  const installed = (): number =>
    process.listenerCount("uncaughtException") + process.listenerCount("unhandledRejection");
  const before = installed();
  const plain = await run({ a: () => 1 });
  assert.is(installed(), before);
  const guarded = await run({ a: () => 1 }, { guard: true });
  assert.is(installed(), before + 1);
  await eventually("both are ready", () => plain.status().ready && guarded.status().ready);
  await Promise.all([plain.stop(), guarded.stop()]);
  assert.is(installed(), before);
});

guard.run();
