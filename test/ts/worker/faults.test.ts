// timeout: 300 s
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, task } from "../../../src/index.js";
import { eventually } from "../support/eventually.js";
import { withWorkers, type WorkerSetting } from "../support/worker-setting.js";

const faults = suite("faults around workers");
const test = (name: string, body: (setting: WorkerSetting) => Promise<void>): void =>
  faults(name, () => withWorkers(body));
const kept = { retentionMs: 3_600_000 };

test("while others have every connection of the pool, ends and renewals wait, and nothing is lost", async (setting) => {
  const { database, store, run, until } = setting;
  const pool = new pg.Pool({ connectionString: database.url, max: 3 });
  const tight = new PgStore(pool, { schema: database.schema, callTimeoutMs: 500 });
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const ran: string[] = [];
  const lost: string[] = [];
  const one = await run(
    { a: async (_: unknown, job) => (ran.push(job.id), void (await finished)) },
    { on: tight, lease: "8s", duties: false },
  );
  one.on("job:lost", ({ job }) => lost.push(job.id));
  const jobs = await store.enqueue([1, 2, 3].map(() => ({ kind: "a", payload: {}, ...kept })));
  for (const { id } of jobs) await until(id, "running");
  const taken = await Promise.all([1, 2, 3].map(() => pool.connect()));
  finish();
  // Some renewals, and more claims and tries of the acks than that.
  await sleep(3_500);
  assert.is(one.status().unacked, 3);
  for (const client of taken) client.release();
  for (const { id } of jobs) await until(id, "completed");
  const [next] = await store.enqueue([{ kind: "a", payload: {}, ...kept }]);
  await until(next!.id, "completed");
  assert.equal([ran.length, lost], [4, []]);
  await one.stop();
  await pool.end();
});

test("thrown giants and circles are kept as short texts, on every arm (R-58)", async (setting) => {
  const { store, run, until, database } = setting;
  const giant = new Error("m".repeat(200_000));
  giant.stack = `Error\n${"    at somewhere (file.js:1:1)\n".repeat(350_000)}`;
  const circle: Record<string, unknown> = { message: "round" };
  circle["cause"] = circle;
  const thrown: readonly unknown[] = [giant, circle, "text", undefined];
  await run({
    bad: task({
      retryDelay: () => 0,
      handler(_: unknown, job) {
        for (let line = 0; line < 500; line++) job.log.info("l".repeat(5_000));
        if (job.fence % 7n === 0n) return job.snooze(1);
        throw thrown[Number(job.fence) % thrown.length];
      },
    }),
  });
  const [job] = await store.enqueue([{ kind: "bad", payload: {}, maxAttempts: 60, ...kept }]);
  await until(job!.id, "archived");
  assert.is((await store.getJob(job!.id))?.attempt, 60);
  const [history] = await database.query<{ entries: number; error: number; logs: number; newest: number }>(
    "select count(*)::int as entries, max(octet_length(error)) as error, max(octet_length(logs::text)) as logs, " +
      "max(attempt) as newest from :SCHEMA.attempt",
  );
  assert.ok(history!.entries === 50, `${history!.entries} entries`);
  assert.ok(history!.error <= 8_192, `an error of ${history!.error} bytes`);
  assert.ok(history!.logs <= 100 * 2_100, `logs of ${history!.logs} bytes`);
  assert.is(history!.newest, 60);
});

test("a job costs each sleeping process one admission, and an idle fleet polls rarely (R-47)", async (setting) => {
  const { database, store, connect, run, until } = setting;
  const queues = Array.from({ length: 10 }, (_, n) => `q${n}`);
  const count = 8;
  const fleet = await Promise.all(
    Array.from({ length: count }, () =>
      run(
        { a: () => 1 },
        {
          on: connect(database.url, { listen: true, maxSize: 2 }),
          queues,
          duties: false,
          lease: "60s",
          // Nobody polls of himself while the test lasts.
          poll: { min: "10m", max: "10m" },
        },
      ),
    ),
  );
  const polls = (): number => fleet.reduce((sum, one) => sum + one.status().polls, 0);
  const settled = async (): Promise<void> => {
    for (let before = -1; before !== polls();) {
      before = polls();
      await sleep(700);
    }
  };
  await eventually("all are ready", () => fleet.every((one) => one.status().ready));
  await settled();
  const rounds = 10;
  for (let round = 0; round < rounds; round++) {
    const before = polls();
    const [job] = await store.enqueue([{ kind: "a", payload: {}, queue: queues[round]!, ...kept }]);
    await until(job!.id, "completed");
    await settled();
    // Each hears of it once; who gets it looks again before it sleeps.
    assert.ok(polls() - before <= count + 2, `${polls() - before} admissions for one job`);
  }
  const idle = polls();
  await sleep(1_000);
  assert.is(polls(), idle);
});

for (const [name, shiftMs] of [
  ["an hour ahead", 3_600_000],
  ["ten minutes behind", -600_000],
] as const) {
  test(`workers whose clocks are ${name} do all things at the store's time (R-69)`, async (setting) => {
    const { store, processes, until, database } = setting;
    const shifted = `data:text/javascript,${encodeURIComponent(`
      const RealDate = Date;
      const now = () => RealDate.now() + ${shiftMs};
      globalThis.Date = class extends RealDate {
        constructor(...given) { if (given.length === 0) super(now()); else super(...given); }
        static now() { return now(); }
      };`)}`;
    const { work } = await processes(
      {
        "seen.mjs": "export default () => Date.now();",
        "tick.mjs": "export default () => undefined;",
        "long.mjs": "export default () => new Promise((done) => setTimeout(done, 4_000));",
      },
      ["--import", shifted],
    );
    const workers = [await work("--lease", "2s"), await work("--lease", "2s")];
    const [clock] = await database.query<{ now: number }>("select :SCHEMA.now_ms()::float8 as now");
    await store.upsertSchedule({
      id: "each second",
      spec: "@every:1000",
      kind: "tick",
      onMissed: "run_once",
      retentionMs: 3_600_000,
    });
    const jobs = await store.enqueue([
      { kind: "seen", payload: {}, ...kept },
      { kind: "seen", payload: {}, delayMs: 2_000, ...kept },
      { kind: "seen", payload: {}, deadlineMs: clock!.now + 120_000, ...kept },
      {
        kind: "seen",
        payload: {},
        scheduledAtMs: clock!.now + 1_500,
        deadlineMs: clock!.now + 120_000,
        ...kept,
      },
      { kind: "long", payload: {}, deadlineMs: clock!.now + 120_000, ...kept },
    ]);
    for (const { id } of jobs) await until(id, "completed");
    const done = await database.query<{ early: number; crashed: number }>(
      "select count(*) filter (where finalized_at_ms < scheduled_at_ms)::int as early, " +
        "count(*) filter (where crash_attempt > 0 or attempt > 0)::int as crashed from :SCHEMA.job",
    );
    assert.equal(done, [{ early: 0, crashed: 0 }]);
    const seen = Number((await store.getJobResult(jobs[0]!.id))?.bytes.toString());
    assert.ok(Math.abs(seen - clock!.now - shiftMs) < 300_000, "the clock was not shifted");
    await store.setSchedulePaused("each second", true);
    const ticks = await database.query<{ ticks: number; jobs: number }>(
      "select count(distinct periodic_tick_ms)::int as ticks, count(*)::int as jobs " +
        "from :SCHEMA.job where kind = 'tick'",
    );
    assert.ok(ticks[0]!.jobs > 0);
    assert.is(ticks[0]!.jobs, ticks[0]!.ticks);
    for (const one of workers) {
      one.child.kill("SIGTERM");
      assert.is(await one.ended(), 0);
    }
  });
}

faults.run();
