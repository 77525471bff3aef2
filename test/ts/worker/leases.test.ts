// timeout: 300 s
import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { JobContext } from "../../../src/index.js";
import { privateServer } from "../support/database.js";
import { eventually } from "../support/eventually.js";
import { storeError } from "../support/store-error.js";
import { effectModule, withWorkers, type WorkerSetting } from "../support/worker-setting.js";

const leases = suite("leases of workers");
const test = (name: string, body: (setting: WorkerSetting) => Promise<void>): void =>
  leases(name, () => withWorkers(body));
const kept = { retentionMs: 3_600_000 };

test("claims whose answer is lost come back after their lease, to anybody (R-02)", async (setting) => {
  const { store, proxy, connect, run, until, database } = setting;
  const jobs = await store.enqueue(Array.from({ length: 10 }, () => ({ kind: "a", payload: {}, ...kept })));
  const network = await proxy();
  const far = connect(network.url, { callTimeoutMs: 1_000 });
  await far.counts();
  network.swallowReplies(true);
  const lost = far.admit({ worker: "gone", queues: ["default"], capacity: 10, leaseMs: 1_500 });
  assert.is((await storeError(lost)).code, "unavailable");
  network.swallowReplies(false);
  const [lease] = await database.query<{ worker: string; jobs: number }>(
    "select worker, cardinality(keys) as jobs from :SCHEMA.lease",
  );
  assert.equal(lease, { worker: "gone", jobs: 10 });
  assert.is((await store.counts()).byState.running, 10);
  const ran: string[] = [];
  await run({ a: (_: unknown, job) => void ran.push(job.id) }, { lease: "2s" });
  for (const { id } of jobs) await until(id, "completed");
  assert.equal(ran.sort(), jobs.map(({ id }) => id).sort());
});

test("a heartbeat keeps no lease, also under the worker's own name (R-03)", async (setting) => {
  const { store, processes, until, effects, database } = setting;
  const hang = `${effectModule}
    export default async (_, job) => {
      if (job.crashAttempt === 0) await new Promise((done) => setTimeout(done, 600_000));
      await job.once((tx) => effect(tx, job));
    };`;
  const jobs = await store.enqueue([1, 2, 3].map(() => ({ kind: "hang", payload: {}, ...kept })));
  const { work } = await processes({ "hang.mjs": hang });
  const first = await work("--worker-id", "pod-0", "--lease", "1500ms");
  for (const { id } of jobs) await until(id, "running");
  first.child.kill("SIGKILL");
  const second = await work("--worker-id", "pod-0", "--lease", "1500ms");
  for (const { id } of jobs) await until(id, "completed");
  assert.equal((await effects()).sort(), jobs.map(({ id }) => id).sort());
  for (const { id } of jobs) assert.is((await store.getJob(id))?.crashAttempt, 1);
  second.child.kill("SIGTERM");
  assert.is(await second.ended(), 0);

  await store.enqueue([{ kind: "held", payload: {} }]);
  const [claim] = await store.admit({ worker: "pod-1", queues: ["default"], leaseMs: 60_000 });
  const expiry = async (): Promise<unknown> => database.query("select expires_at_ms from :SCHEMA.lease");
  const before = await expiry();
  await store.heartbeatWorker({ workerId: "pod-1", incarnation: "2", queues: ["default"], inflight: 1 });
  assert.equal(await expiry(), before);
  assert.equal(await store.renew([{ ...claim!, fence: claim!.fence + 1n }], 90_000), [claim!.jobId]);
  assert.equal(await expiry(), before);
  assert.equal(await store.renew([claim!], 90_000), []);
  assert.not.equal(await expiry(), before);
});

test("an event loop that stands still for longer than the lease loses its jobs, and nothing else (R-07)", async (setting) => {
  const { store, processes, run, until, effects } = setting;
  const released = join(tmpdir(), `headrace-${randomUUID()}`);
  const spin = `import { existsSync } from "node:fs";
    ${effectModule}
    export default async (_, job) => {
      job.signal.addEventListener("abort", () => console.error("told " + job.id));
      if (job.fence === 1n) while (!existsSync(${JSON.stringify(released)}));
      await job.once((tx) => effect(tx, job));
    };`;
  const quick = `${effectModule}
    export default async (_, job) => {
      if (job.fence === 1n) await new Promise((done) => setTimeout(done, 300));
      await job.once((tx) => effect(tx, job));
    };`;
  const ids = ["spin", "quick-1", "quick-2", "quick-3"];
  const { work } = await processes({ "spin.mjs": spin, "quick.mjs": quick });
  // Its duties would stand still as well, until their own leases are over.
  const first = await work("--worker-id", "first", "--lease", "1s", "--no-duties");
  // All in one claim: the three are on their way when the loop stops.
  await store.enqueue(ids.map((id) => ({ id, kind: id.split("-")[0]!, payload: {}, ...kept })));
  for (const id of ids) await until(id, "running", "completed");
  const again = (_: unknown, job: JobContext): Promise<boolean> =>
    job.once(
      async ({ client }) => void (await client.query("insert into effect (job) values ($1)", [job.id])),
    );
  await run({ spin: again, quick: again }, { workerId: "second" });
  for (const id of ids) await until(id, "completed");
  await writeFile(released, "");
  const told = (): number => first.errors().match(/a lease is lost[^\n]*"jobId":"spin"/g)?.length ?? 0;
  await eventually("the first has told what it has lost", () => told() > 0, 60_000);
  assert.match(first.errors(), "told spin");
  assert.equal((await effects()).sort(), [...ids].sort());
  // The late end of the first holder has not touched the job.
  assert.is((await store.getJob("spin"))?.crashAttempt, 1);
  assert.is((await store.getJob("spin"))?.attempt, 0);
  // The process lives, and works.
  assert.is(first.child.exitCode, null);
  first.child.kill("SIGTERM");
  assert.is(await first.ended(), 0);
  assert.is(told(), 1, first.errors());
  await rm(released);
});

test("a worker that was frozen beyond its lease does not ack for the next holder", async (setting) => {
  const { store, processes, until, effects, database } = setting;
  const slow = `${effectModule}
    export default async (_, job) => {
      if (job.fence === 1n) await new Promise((done) => setTimeout(done, 500));
      await job.once((tx) => effect(tx, job));
    };`;
  const { work } = await processes({ "slow.mjs": slow });
  // Its duties would stand still as well, until their own leases are over.
  const first = await work("--worker-id", "first", "--lease", "1s", "--no-duties");
  const [job] = await store.enqueue([{ kind: "slow", payload: {}, ...kept }]);
  await until(job!.id, "running");
  first.child.kill("SIGSTOP");
  await work("--worker-id", "second", "--lease", "60s");
  await until(job!.id, "completed");
  first.child.kill("SIGCONT");
  first.child.kill("SIGTERM");
  assert.is(await first.ended(), 0);
  assert.equal(await effects(), [job!.id]);
  const [row] = await database.query<{ fence: string }>("select fence from :SCHEMA.job");
  assert.is(row?.fence, "2");
});

leases("a restart of the server that is shorter than the lease costs no second run (R-12)", async () => {
  const { server, database, close } = await privateServer();
  try {
    await withWorkers(async ({ store, connect, run, until }) => {
      const ran: string[] = [];
      const tasks = {
        long: async (_: unknown, job: { id: string }) => (ran.push(job.id), void (await sleep(12_000))),
      };
      const options = { lease: "10s", poll: { min: 50, max: 200 } } as const;
      for (const workerId of ["w1", "w2"]) {
        const on = connect(database.url, { listen: true, callTimeoutMs: 5_000 });
        await run(tasks, { ...options, workerId, on });
      }
      const [job] = await store.enqueue([{ kind: "long", payload: {}, ...kept }]);
      await eventually("it runs", () => ran.length > 0);
      await server.restart("immediate");
      await eventually(
        "the store is back",
        () =>
          store.counts().then(
            () => true,
            () => false,
          ),
        60_000,
      );
      await until(job!.id, "completed");
      assert.equal(ran, [job!.id]);
      const [attempt] = await store.listAttempts(job!.id);
      assert.is(attempt, undefined, "a lease was lost");
    }, database);
  } finally {
    await close();
  }
});

test("the slot of a dead worker is free when its job is taken back, and not before (R-74)", async (setting) => {
  const { store, run, until, database } = setting;
  await store.upsertConcurrencyLimit({ name: "one", queue: "capped", maxConcurrent: 1 });
  const job = (): { kind: string; queue: string; partitionKey: string; retentionMs: number } => ({
    kind: "a",
    queue: "capped",
    partitionKey: "p",
    ...kept,
  });
  const [dead, ...others] = await store.enqueue([job(), job(), job()]);
  const [claim] = await store.admit({ worker: "dead", queues: ["capped"], capacity: 1, leaseMs: 3_000 });
  assert.is(claim?.jobId, dead!.id);
  let [running, most] = [0, 0];
  const a = async (): Promise<void> => {
    most = Math.max(most, ++running);
    await sleep(100);
    running--;
  };
  await run({ a }, { queues: ["capped"], workerId: "w1" });
  await run({ a }, { queues: ["capped"], workerId: "w2" });
  for (const { id } of [dead!, ...others]) await until(id, "completed");
  assert.is(most, 1);
  const [lost] = await store.listAttempts(dead!.id);
  assert.is(lost?.outcome, "lease_lost");
  const [first] = await database.query<{ finalized: number }>(
    "select min(finalized_at_ms)::float8 as finalized from :SCHEMA.job",
  );
  assert.ok(first!.finalized >= Number(lost?.finishedAtMs), "a job of the partition was done before");
});

test("a job that is renewed holds its slot for as long as it runs (R-75)", async ({ store, run, until }) => {
  await store.upsertConcurrencyLimit({ name: "one", queue: "capped", maxConcurrent: 1 });
  const order: string[] = [];
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const handlers = {
    long: async () => (order.push("long begins"), await finished, void order.push("long ends")),
    next: () => void order.push("next begins"),
  };
  const options = { queues: ["capped"], lease: "2s", poll: { min: 20, max: 50 } } as const;
  await run(handlers, { ...options, workerId: "w1" });
  await run(handlers, { ...options, workerId: "w2" });
  const [long] = await store.enqueue([{ kind: "long", queue: "capped", payload: {}, ...kept }]);
  await until(long!.id, "running");
  const [next] = await store.enqueue([{ kind: "next", queue: "capped", payload: {}, ...kept }]);
  // Four leases and more, with the sweeps at work.
  for (let look = 0; look < 10; look++) {
    await sleep(850);
    assert.match(JSON.stringify(await store.explainAdmission(next!.id)), /concurrency/);
  }
  finish();
  await until(next!.id, "completed");
  assert.equal(order, ["long begins", "long ends", "next begins"]);
  assert.is((await store.getJob(long!.id))?.crashAttempt, 0);
});

test("steps that were recorded before a kill -9 are not run again, and the ceiling goes on (R-19)", async (setting) => {
  const { store, processes, until, effects } = setting;
  await store.upsertConcurrencyLimit({ name: "one", queue: "capped", maxConcurrent: 1 });
  const steps = `
    import pg from "pg";
    const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
    await client.connect();
    const note = (name) => client.query("insert into effect (job) values ($1)", [name]);
    export default async (payload, job) => {
      for (const name of ["s1", "s2"]) await job.step(name, () => note(payload.name + name));
      if (payload.dies && job.crashAttempt === 0) process.kill(process.pid, "SIGKILL");
      await job.step("s3", () => note(payload.name + "s3"));
    };`;
  // A folder of tasks lies outside of the package, so pg is named by its place.
  const pg = import.meta.resolve("pg");
  const { work } = await processes({ "steps.mjs": steps.replace('"pg"', JSON.stringify(pg)) });
  const [dying, next] = await store.enqueue(
    [true, false].map((dies) => ({
      kind: "steps",
      queue: "capped",
      payload: { name: dies ? "1" : "2", dies },
      ...kept,
    })),
  );
  const first = await work("--queue", "capped", "--lease", "1s");
  assert.is(await first.ended(), null);
  await work("--queue", "capped", "--lease", "1s");
  for (const { id } of [dying!, next!]) await until(id, "completed");
  const all = await effects();
  assert.equal(
    all.filter((name) => name.startsWith("1")),
    ["1s1", "1s2", "1s3"],
  );
  assert.equal(
    all.filter((name) => name.startsWith("2")),
    ["2s1", "2s2", "2s3"],
  );
});

leases.run();
