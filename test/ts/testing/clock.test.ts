import { suite } from "uvu";
import * as assert from "uvu/assert";
import { migrate, PgStore, task, Worker } from "../../../src/index.js";
import { dropTestSchemas, testQueue, TestQueue } from "../../../src/testing/index.js";
import { testDatabase } from "../support/database.js";
import { eventually } from "../support/eventually.js";
import { storeError } from "../support/store-error.js";
import { failure } from "./support.js";

const clocks = suite("store time");
const database = await testDatabase({ installed: false });
const { url, pool } = database;

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const tasks = {
  work: () => "done",
  wait: task(
    async (_payload, job) => void (await new Promise((r) => job.signal.addEventListener("abort", r))),
  ),
};
const open = () => testQueue({ url, tasks, worker: { logger: silent } });
const near = (actual: Date, expectedMs: number): void => {
  const off = actual.getTime() - expectedMs;
  assert.ok(off >= -1 && off < 30_000, `${off} ms off`);
};

clocks("it moves on by durations, and goes on from there", async () => {
  await using queue = await open();
  near(await queue.now(), Date.now() - 1000);
  near(await queue.advance("1h"), Date.now() + 3_600_000 - 1000);
  near(await queue.advance(30 * 60_000), Date.now() + 5_400_000 - 1000);
  const before = await queue.now();
  await eventually("a moment passes", async () => (await queue.now()) > before);
});

clocks("it is set, also back while there is nothing", async () => {
  await using queue = await open();
  const to = new Date("2001-02-03T04:05:06Z");
  near(await queue.setTime(to), to.getTime());
  near(await queue.setTime("2031-02-03T04:05:06Z"), Date.parse("2031-02-03T04:05:06Z"));
  near(await queue.setTime(to.getTime()), to.getTime());
  await queue.client.enqueue("work");
  const error = await storeError(queue.setTime("2000-01-01T00:00:00Z"));
  assert.is(error.code, "invalid");
  assert.match(error.message, /back/);
  near(await queue.now(), to.getTime());
});

clocks("scheduled jobs become due", async () => {
  await using queue = await open();
  const { id } = await queue.client.enqueue("work", undefined, { delay: "2h" });
  await queue.advance("119m");
  assert.equal(await queue.drain(), []);
  await queue.advance("1m");
  assert.equal(
    (await queue.drain()).map((run) => run.id),
    [id],
  );
});

clocks("leases end, and a worker that was killed has lost its job", async () => {
  await using queue = await open();
  const { id } = await queue.client.enqueue("work");
  await queue.store.admit({ worker: "the dead", queues: ["default"], leaseMs: 60_000 });
  await queue.advance("59s");
  await queue.runDuties();
  assert.is((await queue.store.getJob(id))?.state, "running");
  await queue.advance("1s");
  await queue.runDuties();
  const job = await queue.store.getJob(id);
  assert.equal([job?.state, job?.attempt, job?.crashAttempt], ["retryable", 0, 1]);
  await queue.advance("1m");
  assert.equal(
    (await queue.drain()).map(({ outcome }) => outcome),
    ["success"],
  );
});

clocks("deadlines pass, unique windows end, retention ends", async () => {
  await using queue = await open();
  const deadline = new Date((await queue.now()).getTime() + 3_600_000);
  const late = await queue.client.enqueue("work", undefined, { deadline });
  const only = { uniqueKey: "k", uniqueWindow: "1h" } as const;
  const kept = await queue.client.enqueue("work", undefined, { ...only, queue: "q", retention: "90m" });
  await queue.drain({ queues: ["q"] });
  assert.is((await storeError(queue.client.enqueue("work", undefined, only))).code, "duplicate");
  await queue.advance("61m");
  assert.equal(await queue.drain(), []);
  assert.is((await queue.store.getJob(late.id))?.state, "archived");
  await queue.client.enqueue("work", undefined, only);
  assert.is((await queue.store.getJob(kept.id))?.state, "completed");
  await queue.advance("30m");
  await queue.runDuties();
  assert.is(await queue.store.getJob(kept.id), null);
});

clocks("schedules tick", async () => {
  await using queue = await open();
  await queue.setTime("2031-05-05T10:00:30Z");
  await queue.store.upsertSchedule({ id: "s", spec: "0 11 * * *", kind: "work" });
  assert.equal(await queue.drain(), []);
  await queue.setTime("2031-05-05T11:00:00Z");
  assert.is((await queue.drain()).length, 1);
  await queue.setTime("2031-05-06T11:00:00Z");
  assert.is((await queue.drain()).length, 1);
  assert.equal(
    (await queue.store.listScheduleEvents("s")).map(({ tickMs }) => new Date(tickMs).toISOString()),
    ["2031-05-06T11:00:00.000Z", "2031-05-05T11:00:00.000Z"],
  );
});

clocks("a worker of the application finds what has become due, and loses what has lapsed", async () => {
  await using queue = await open();
  const ran: string[] = [];
  const lost: string[] = [];
  const worker = new Worker(queue.store, { tasks, logger: silent, lease: "20s" });
  worker.on("job:settled", ({ job, outcome }) => ran.push(`${job.kind} ${outcome}`));
  worker.on("job:lost", ({ job }) => lost.push(job.kind));
  await worker.start();
  await queue.client.enqueue("work", undefined, { delay: "1h" });
  const { id } = await queue.client.enqueue("wait");
  await eventually("it waits", async () => (await queue.store.getJob(id))?.state === "running");
  await queue.advance("1h");
  await eventually("it runs what is due", () => ran.includes("work success"));
  await eventually("the lapsed one was taken from it", () => lost.length > 0 || ran.length > 1);
  assert.equal(lost, ["wait"]);
  await worker.stop({ mode: "abort" });
});

clocks("wrong input is refused", async () => {
  await using queue = await open();
  assert.match((await failure(queue.advance("soon"))).message, /must look like 250ms.*"soon"/);
  assert.instance(await failure(queue.advance(-1)), RangeError);
  assert.match((await failure(queue.setTime("tomorrow"))).message, /"tomorrow" is no instant/);
  assert.is((await storeError(queue.advance("3000000d"))).code, "invalid", "beyond the year 9999");
});

clocks("time of an install that is not for tests can't be moved", async () => {
  await migrate({ pool, schema: "production" });
  const store = new PgStore(pool, { schema: "production" });
  const queue = new TestQueue(store, { tasks });
  const before = Date.now();
  await store.enqueue([{ kind: "work", delayMs: 3_600_000 }]);
  for (const call of [() => queue.advance("1h"), () => queue.setTime(0), () => queue.now()]) {
    const error = await storeError(call());
    assert.is(error.code, "invalid");
    assert.match(error.message, /no test clock/);
  }
  // Nor can it be made one for tests, now that there is a job.
  assert.is((await storeError(store.call("use_test_clock"))).code, "invalid");
  assert.match((await failure(queue.runJob("j0000000000000001"))).message, /it is scheduled, due at/);
  const [job] = (await store.listJobs()).jobs;
  assert.ok(job!.scheduledAtMs - before >= 3_600_000 && job!.scheduledAtMs - Date.now() <= 3_600_000);
  // A role with every duty can't either.
  await pool.query("create role kit_operator");
  const duties = ["producer", "worker", "scheduler", "operator", "reader_payload"];
  for (const duty of duties) await pool.query("select production.grant_access('kit_operator', $1)", [duty]);
  const client = await pool.connect();
  await client.query("set role kit_operator");
  for (const call of ["use_test_clock()", "move_test_clock(1)"]) {
    assert.match((await failure(client.query(`select production.${call}`))).message, /permission denied/);
  }
  assert.match(
    (await failure(client.query("insert into production.test_clock values (true, 1)"))).message,
    /denied/,
  );
  await client.query("reset role");
  client.release();
  await pool.query("drop schema production cascade; drop role kit_operator");
});

clocks.after(async () => {
  await dropTestSchemas({ url });
  await database.close();
});
clocks.run();
