// timeout: 300 s
import { createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { Enqueued } from "../../../src/index.js";
import { privateServer } from "../support/database.js";
import { eventually } from "../support/eventually.js";
import { withAddress } from "../support/url.js";
import { effectModule, withWorkers, type WorkerSetting } from "../support/worker-setting.js";

const outages = suite("outages of workers");
const test = (name: string, body: (setting: WorkerSetting) => Promise<void>): void =>
  outages(name, () => withWorkers(body));
const kept = { retentionMs: 3_600_000 };
const idsOf = (jobs: readonly Enqueued[]): string[] => jobs.map(({ id }) => id).sort();

// What nobody handles would be the end of an application.
const unhandled: unknown[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(reason));
process.on("uncaughtException", (error) => unhandled.push(error));
outages.after.each(() => {
  assert.equal(unhandled.splice(0), []);
});

test("an ack that was heard but not answered settles the job once, and nobody is told that it is lost", async (setting) => {
  const { store, proxy, connect, run, until, database } = setting;
  const network = await proxy();
  const far = connect(network.url, { callTimeoutMs: 2_000 });
  const ran: string[] = [];
  const told: string[] = [];
  const one = await run(
    {
      a: (_: unknown, job) => {
        ran.push(job.id);
        // The next thing that passes here is the ack.
        network.swallowReplies(ran.length === 1);
      },
    },
    { on: far, duties: false, lease: "60s" },
  );
  one.on("job:lost", ({ job }) => told.push(job.id));
  // Connections for the ack and whatever comes before it: no new one would get through.
  await Promise.all(Array.from({ length: 10 }, () => far.counts()));
  const [job] = await store.enqueue([{ kind: "a", payload: {}, ...kept }]);
  await until(job!.id, "completed");
  assert.ok(one.status().unacked > 0, "the answer has come");
  network.cut();
  network.swallowReplies(false);
  await eventually("the worker has let go of it", () => one.status().unacked === 0, 60_000);
  assert.equal([ran, told], [[job!.id], []]);
  const [row] = await database.query<{ fence: string; attempt: number }>(
    "select fence, attempt from :SCHEMA.job",
  );
  assert.equal(row, { fence: "1", attempt: 0 });
  // It works on.
  const [next] = await store.enqueue([{ kind: "a", payload: {}, ...kept }]);
  await until(next!.id, "completed");
});

test("an ack that was cut off before it was heard is sent again on a new connection", async (setting) => {
  const { store, proxy, connect, run, until } = setting;
  const network = await proxy();
  const far = connect(network.url, { callTimeoutMs: 2_000 });
  const ran: string[] = [];
  const one = await run(
    {
      a: (_: unknown, job) => {
        ran.push(job.id);
        network.blackhole(true);
      },
    },
    { on: far, duties: false, lease: "60s" },
  );
  const [job] = await store.enqueue([{ kind: "a", payload: {}, ...kept }]);
  await eventually("its end is on its way", () => one.status().unacked === 1);
  await sleep(200);
  assert.is((await store.getJob(job!.id))?.state, "running");
  network.cut();
  network.blackhole(false);
  await until(job!.id, "completed");
  assert.equal(ran, [job!.id]);
});

test("while ends can't be told nothing is claimed; after the lease they are given up, and the jobs run again (R-13)", async (setting) => {
  const { store, proxy, connect, run, until } = setting;
  const network = await proxy();
  const far = connect(network.url, { callTimeoutMs: 1_000 });
  let asked = 0;
  let failures = 0;
  const [admit, ackMany] = [far.admit.bind(far), far.ackMany.bind(far)];
  far.admit = (request) => (asked++, admit(request));
  far.ackMany = (acks) =>
    ackMany(acks).catch((error: unknown) => (failures++, Promise.reject(error as Error)));
  const ran: string[] = [];
  const lost: string[] = [];
  let begun = (): void => undefined;
  let reached = 0;
  const all = new Promise<void>((resolve) => (begun = resolve));
  const one = await run(
    {
      a: async (_: unknown, job) => {
        ran.push(job.id);
        if (++reached === 10) begun();
        if (reached <= 10) await all;
      },
    },
    { on: far, duties: false, lease: "3s", concurrency: 20 },
  );
  let askedUntilThen = 0;
  one.on("job:lost", ({ job }) => {
    lost.push(job.id);
    askedUntilThen = asked;
  });
  const ready = new Promise((resolve) => one.on("worker:ready", resolve));
  if (!one.status().ready) await ready;
  void all.then(() => network.refuse(true));
  const jobs = await store.enqueue(Array.from({ length: 10 }, () => ({ kind: "a", payload: {}, ...kept })));
  await all;
  await eventually("the ends wait", () => one.status().unacked === 10 && failures > 0);
  const before = asked;
  const [late] = await store.enqueue([{ kind: "a", payload: {}, ...kept }]);
  await eventually("they are given up", () => lost.length === 10, 60_000);
  assert.is(one.status().unacked, 0);
  assert.ok(failures > 1, "an end was told once and given up");
  assert.is(askedUntilThen, before, "more was claimed before the ends were told");
  assert.equal(lost.sort(), idsOf(jobs));
  assert.is((await store.counts()).byState.running, 10);
  await network.refuse(false);
  await run({ never: () => 1 }, { queues: ["sweeps only"] });
  for (const { id } of [...jobs, late!]) await until(id, "completed");
  for (const { id } of jobs) assert.is((await store.getJob(id))?.attempt, 0);
});

test("a process whose connections are ended again and again lives, and settles each job once (R-17)", async (setting) => {
  const { store, processes, until, effects, database } = setting;
  const { work } = await processes({
    "long.mjs": `${effectModule}
      export default async (_, job) => {
        await new Promise((done) => setTimeout(done, 8_000));
        for (;;) {
          // A transaction that is cut off is the handler's to begin again.
          try { return void (await job.once((tx) => effect(tx, job))); }
          catch (error) { if (job.signal.aborted) throw error; await new Promise((done) => setTimeout(done, 50)); }
        }
      };`,
  });
  const one = await work("--lease", "6s");
  const jobs = await store.enqueue([1, 2, 3, 4, 5].map(() => ({ kind: "long", payload: {}, ...kept })));
  for (const { id } of jobs) await until(id, "running");
  for (let round = 0; round < 40; round++) {
    await database.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'headrace%' " +
        "and datname = current_database() order by random() limit 1",
    );
    await sleep(200);
  }
  for (const { id } of jobs) await until(id, "completed");
  assert.is(one.child.exitCode, null, one.errors());
  assert.equal((await effects()).sort(), idsOf(jobs));
  assert.not.match(one.errors(), /unhandled/i);
  one.child.kill("SIGTERM");
  assert.is(await one.ended(), 0);
});

outages(
  "the server restarts while handlers run: the process lives and what runs ends once (R-34)",
  async () => {
    const { server, database, close } = await privateServer({ poolSize: 3 });
    try {
      await withWorkers(async ({ store, processes, until, effects }) => {
        const { work } = await processes({
          "slow.mjs": `${effectModule}
          export default async (_, job) => {
            await new Promise((done) => setTimeout(done, 1_000));
            await job.once(async (tx) => {
              await effect(tx, job);
              await new Promise((done) => setTimeout(done, 300));
            });
          };`,
          "quick.mjs": "export default () => 1;",
        });
        const one = await work("--lease", "20s");
        for (const mode of ["fast", "immediate", "kill"] as const) {
          const jobs = await store.enqueue([1, 2, 3].map(() => ({ kind: "slow", payload: {}, ...kept })));
          for (const { id } of jobs) await until(id, "running");
          await server.restart(mode);
          await eventually(
            "the store is back",
            () =>
              store.counts().then(
                () => true,
                () => false,
              ),
            60_000,
          );
          const [quick] = await store.enqueue([{ kind: "quick", payload: {}, ...kept }]);
          for (const { id } of [...jobs, quick!]) await until(id, "completed");
          assert.equal((await effects()).slice(-3).sort(), idsOf(jobs));
          // Nobody's lease has run out.
          for (const { id } of jobs) assert.is((await store.getJob(id))?.crashAttempt, 0);
        }
        assert.is((await effects()).length, 9);
        assert.is(one.child.exitCode, null, one.errors());
        one.child.kill("SIGTERM");
        assert.is(await one.ended(), 0);
      }, database);
    } finally {
      await close();
    }
  },
);

test("a worker that starts in an outage says that it is not ready, and works afterwards (R-41)", async (setting) => {
  const { store, proxy, connect, run, until } = setting;
  const network = await proxy();
  await network.refuse(true);
  const far = connect(network.url, { listen: true, callTimeoutMs: 1_000 });
  const [job] = await store.enqueue([{ kind: "b", payload: {}, ...kept }]);
  const one = await run({ a: () => 1, b: () => 2 }, { on: far });
  await eventually("it has found out", () => !one.status().available);
  assert.equal([one.status().state, one.status().ready], ["running", false]);
  await sleep(1_000);
  assert.is(one.status().ready, false);
  await network.refuse(false);
  await until(job!.id, "completed");
  assert.equal([one.status().ready, one.status().available], [true, true]);
});

outages("an outage costs each idle worker few connection attempts and few lines (R-38)", async () => {
  let attempts = 0;
  const sockets = new Set<Socket>();
  // Something that answers as a server does that has gone: the end, at once.
  const refusing = createServer((socket) => {
    attempts++;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(refusing, "listening");
  const { port } = refusing.address() as AddressInfo;
  await withWorkers(async ({ database, connect, run }) => {
    const lines: string[] = [];
    const note = (message: string): void => void lines.push(message);
    const logger = { debug: () => undefined, info: note, warn: note, error: note };
    const workers = 4;
    for (let n = 0; n < workers; n++) {
      const on = connect(withAddress(database.url, "127.0.0.1", port));
      on.withListen(withAddress(database.url, "127.0.0.1", port));
      await run({ a: () => 1 }, { on, logger });
    }
    await sleep(5_000);
    const before = attempts;
    await sleep(15_000);
    const each = (attempts - before) / workers;
    assert.ok(each <= 15, `${each} attempts of each worker in 15 s`);
    assert.ok(lines.length <= 2 * workers, lines.join("\n"));
  });
  refusing.close();
});

outages.run();
