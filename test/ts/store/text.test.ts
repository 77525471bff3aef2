import fc from "fast-check";
import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, type Claim, type Job } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";
import { storeError } from "../support/store-error.js";

const text = suite("text in the store");
const database = await testDatabase();
const store = new PgStore(database.pool, { schema: database.schema });
/** No server behind it: whatever is refused here was refused before any SQL. */
const nowhere = new PgStore(new pg.Pool({ host: "127.0.0.1", port: 1 }), { schema: "headrace" });

text.after(() => database.close());

const bad = ["a\0b", "\0", "\ud83d", "x\udc00y"];

let queues = 0;

async function claimOne(job: Partial<Job> = {}): Promise<Claim> {
  const queue = job.queue ?? `text-${++queues}`;
  await store.enqueue([{ kind: "task", retentionMs: 60_000, ...job, queue }]);
  const [claim] = await store.admit({ worker: "w", queues: [queue], capacity: 1, leaseMs: 600_000 });
  assert.ok(claim);
  return claim;
}

text("what a caller chooses is refused before any SQL when PostgreSQL can't hold it (R-48)", async () => {
  for (const value of bad) {
    const jobs: Partial<Job>[] = [
      { kind: value },
      { id: value },
      { queue: value },
      { partitionKey: value },
      { rateClass: value },
      { rateClasses: ["ok", value] },
      { uniqueKey: value },
      { tags: [value] },
      { headers: { [value]: "v" } },
      { headers: { name: value } },
      { stickyWorker: value },
      { fingerprint: value },
      { periodicScheduleId: value, periodicTickMs: 1 },
    ];
    for (const job of jobs) {
      const error = await storeError(nowhere.enqueue([{ kind: "task", ...job }]));
      assert.is(error.code, "invalid", JSON.stringify(job));
      assert.is(error.sqlstate, undefined);
    }
    const lease = { jobId: value, leaseId: "l", fence: 1n };
    const calls = [
      nowhere.admit({ worker: value, queues: ["q"] }),
      nowhere.admit({ worker: "w", queues: [value] }),
      nowhere.admit({ worker: "w", queues: ["q"], leaseId: value }),
      nowhere.ack(lease, "success"),
      nowhere.ackMany([{ ...lease, outcome: "success" }]),
      nowhere.renew([lease], 1000),
      nowhere.release(lease),
      nowhere.checkpoint({ ...lease, jobId: "j" }, { completed: [value] }),
      nowhere.getJob(value),
      nowhere.listJobs({ queue: value }),
      nowhere.listJobs({ tagsAny: [value] }),
      nowhere.counts(value),
      nowhere.claimDuty(value, "h", 1000),
      nowhere.claimDuty("d", value, 1000),
      nowhere.heartbeatWorker({ workerId: value }),
      nowhere.declareSleep(value, [], 1000),
      nowhere.claimEffect(database.pool, value),
    ];
    for (const call of calls) {
      const error = await storeError(call);
      assert.is(error.code, "invalid");
      assert.is(error.sqlstate, undefined);
    }
  }
  // The same calls with good text do go out.
  assert.is((await storeError(nowhere.getJob("good"))).code, "unavailable");
  assert.is((await storeError(nowhere.enqueue([{ kind: "task" }]))).code, "unavailable");
});

text("an error or a log never makes an ack fail (R-48)", async () => {
  const error = await claimOne();
  await store.ack(error, "retry", {
    error: "a\0b \ud83d c",
    delayMs: 3_600_000,
    logs: ["l\0g", "\udc00", "fine 🦉"],
  });
  const [attempt] = await store.listAttempts(error.id);
  assert.is(attempt?.error, "a\ufffdb \ufffd c");
  assert.equal(attempt?.logs, ["l\ufffdg", "\ufffd", "fine 🦉"]);

  const many = await claimOne();
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  const logs = [{ deep: ["\0", { "k\0": "\ud800" }] }, circle, 1n, undefined, 1, "back\\u0000slash", null];
  const [result] = await store.ackMany([{ ...many, outcome: "skip", error: "\0".repeat(3), logs }]);
  assert.is(result?.state, "archived");
  const [entry] = await store.listAttempts(many.id);
  assert.is(entry?.error, "\ufffd\ufffd\ufffd");
  assert.equal(entry?.logs?.[0], { deep: ["\ufffd", { "k\ufffd": "\ufffd" }] });
  assert.match(String(entry?.logs?.[1]), /without a JSON form/);
  assert.match(String(entry?.logs?.[2]), /without a JSON form/);
  assert.equal(entry?.logs?.slice(3), [null, 1, "back\\u0000slash", null]);
});

text("errors and logs are cut on whole characters (R-49)", async () => {
  const claim = await claimOne();
  const owl = "🦉";
  await store.ack(claim, "skip", {
    error: "a".repeat(8191) + owl,
    logs: [
      "b".repeat(2047) + owl,
      owl.repeat(100_000),
      ...Array.from({ length: 200 }, (_, n) => `line ${n}`),
    ],
  });
  const [attempt] = await store.listAttempts(claim.id);
  assert.is(attempt?.error, "a".repeat(8191));
  assert.is(attempt?.logs?.length, 100);
  assert.is(attempt?.logs?.at(-1), "line 199");

  const other = await claimOne();
  await store.ack(other, "skip", {
    error: owl.repeat(1_000_000),
    logs: ["b".repeat(2047) + owl, owl.repeat(5000)],
  });
  const [cut] = await store.listAttempts(other.id);
  assert.is(cut?.error, owl.repeat(2048));
  assert.is(cut?.logs?.[0], "b".repeat(2047));
  assert.is(cut?.logs?.[1], owl.repeat(512));
});

text("payloads arrive as they were given (R-50)", async () => {
  const bytes = Buffer.from([0, 1, 2, 254, 255, 0]);
  const payloads: [unknown, Buffer][] = [
    [bytes, bytes],
    [new Uint8Array(bytes), bytes],
    [new Uint8Array(), Buffer.alloc(0)],
    [{ nul: "a\0b" }, Buffer.from('{"nul":"a\\u0000b"}')],
    [{ lone: "\ud83d" }, Buffer.from('{"lone":"\\ud83d"}')],
    ["back\\u0000slash", Buffer.from('"back\\\\u0000slash"')],
    [{ z: 1, a: [1.5, 1e300, -0], "": null }, Buffer.from('{"z":1,"a":[1.5,1e+300,0],"":null}')],
    ["", Buffer.from('""')],
    [0, Buffer.from("0")],
    [false, Buffer.from("false")],
    [null, Buffer.from("null")],
    [new Date(0), Buffer.from('"1970-01-01T00:00:00.000Z"')],
    [undefined, Buffer.from("{}")],
  ];
  for (const [payload, stored] of payloads) {
    const claim = await claimOne({ payload });
    assert.equal(claim.payload, stored, stored.toString());
    assert.equal((await store.getJob(claim.id, true))?.payload, stored);
    assert.is((await store.getJob(claim.id))?.payload, null);
  }
});

text("any JSON survives the way to the worker", async () => {
  await fc.assert(
    fc.asyncProperty(fc.json({ stringUnit: "binary", maxDepth: 4 }), async (json) => {
      const payload = JSON.parse(json) as unknown;
      const claim = await claimOne({ payload });
      assert.is(claim.payload.toString(), JSON.stringify(payload));
    }),
    { numRuns: 100 },
  );
});

text("what has no JSON form is invalid", async () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  const fails = {
    toJSON(): never {
      throw new Error("no");
    },
  };
  for (const payload of [circle, 1n, () => 1, Symbol("s"), fails]) {
    const error = await storeError(nowhere.enqueue([{ kind: "task", payload }]));
    assert.is(error.code, "invalid");
    assert.is(error.fields.field, "payload");
  }
});

text("arguments of a wrong kind are invalid before any SQL", async () => {
  const jobs = [
    { kind: 1 },
    { kind: "task", nonsense: 1 },
    { kind: "task", delayMs: 1.5 },
    { kind: "task", delayMs: Number.NaN },
    { kind: "task", maxAttempts: Infinity },
    { kind: "task", tags: "a" },
    { kind: "task", headers: [] },
    { kind: "task", headers: { a: 1 } },
    { kind: "task", pending: "yes" },
    null,
    "task",
  ];
  for (const job of jobs) {
    assert.is(
      (await storeError(nowhere.enqueue([job as unknown as Job]))).code,
      "invalid",
      JSON.stringify(job),
    );
  }
  assert.is((await storeError(nowhere.enqueue("task" as never))).code, "invalid");
  const lease = { jobId: "j", leaseId: "l", fence: 1n };
  assert.is(
    (await storeError(nowhere.ackMany([{ ...lease, outcome: "snooze", delayMs: 0.5 }]))).code,
    "invalid",
  );
  assert.is((await storeError(nowhere.ack(lease, "snooze", { delayMs: Number.NaN }))).code, "invalid");
  assert.is((await storeError(nowhere.renew([lease], Number.NaN))).code, "invalid");
  assert.is((await storeError(nowhere.enqueue(Array(10_001).fill({ kind: "task" })))).code, "invalid");
});

text("sizes: up to the limits in one call, beyond them refused before any SQL (R-53)", async () => {
  const mebibyte = 1024 * 1024;
  const full = { kind: "task", queue: "sizes", payload: Buffer.alloc(mebibyte) };
  const refusedHere = async (batch: Job[]): Promise<void> => {
    const error = await storeError(nowhere.enqueue(batch));
    assert.is(error.code, "invalid");
    assert.is(error.sqlstate, undefined);
  };
  await store.enqueue([full, { ...full, payload: "x".repeat(mebibyte - 2) }]);
  await refusedHere([{ ...full, payload: Buffer.alloc(mebibyte + 1) }]);
  await refusedHere([{ ...full, payload: "x".repeat(mebibyte - 1) }]);
  await refusedHere([{ ...full, payload: "é".repeat(mebibyte / 2) }]);
  await refusedHere([...Array<Job>(64).fill(full), { kind: "task", payload: 1 }]);

  const every = (count: number): Job[] =>
    Array.from({ length: count }, (_, n) => ({
      kind: "task",
      id: `every/${count}/${n}`,
      queue: "sizes",
      partitionKey: "p",
      rateClasses: ["a", "b", "c", "d"],
      tags: Array.from({ length: 32 }, (_, tag) => `tag-${tag}`),
      headers: Object.fromEntries(Array.from({ length: 128 }, (_, header) => [`h${header}`, "v"])),
      payload: { n },
      priority: 1,
      weight: 2,
      maxAttempts: 3,
      delayMs: 1,
      timeoutMs: 1,
      deadlineMs: 4_000_000_000_000,
      retentionMs: 1,
    }));
  for (const count of [1, 999, 1_000, 1_001]) {
    assert.is(
      (await store.enqueue(every(count))).filter(({ disposition }) => disposition === "inserted").length,
      count,
    );
  }
  const lease = { jobId: "j", leaseId: "l", fence: 1n };
  const long = storeError(
    nowhere.ackMany([{ ...lease, outcome: "success", result: new Uint8Array(32 * mebibyte + 1) }]),
  );
  assert.is((await long).fields.field, "result");
});

const names = [
  "image-worker-queue",
  "webapp/user.created",
  `a"b'c;drop table x;--`,
  "$$",
  "%I %s",
  "\\",
  "🦉",
  "\t",
  " leading",
  "NULL",
  "{a,b}",
  "x".repeat(255),
];

text("names are names: they come back byte for byte, and are not those of others (R-54)", async () => {
  for (const name of names) {
    const id = `id of ${name}`.slice(0, 255);
    const claim = await claimOne({ queue: name, partitionKey: name, rateClass: name, id, fingerprint: name });
    assert.is(claim.queue, name);
    assert.is(claim.partitionKey, name);
    assert.equal(claim.rateClasses, [name]);
    assert.is(claim.id, id);
    const job = await store.getJob(id);
    assert.is(job?.queue, name);
    assert.is(job?.fingerprint, name);
    assert.equal(
      (await store.listJobs({ queue: name })).jobs.map((found) => found.id),
      [id],
    );
    assert.is((await store.counts(name)).byState.running, 1);
    assert.is(await store.claimDuty(name, name, 60_000), true);
    assert.is(await store.claimDuty(name, `${name.slice(0, 250)}!`, 60_000), false);
    assert.is(await store.claimEffect(database.pool, name), true);
    assert.is(await store.claimEffect(database.pool, name), false);
    await store.heartbeatWorker({ workerId: name, queues: [name, ""] });
    assert.equal((await store.listWorkers()).find((worker) => worker.workerId === name)?.queues, [name, ""]);
    await store.declareSleep(name, [name], 1000);
    await store.release(claim);
    const [again] = await store.admit({ worker: name, queues: [name, "somewhere else"], leaseId: name });
    assert.is(again?.leaseId, name);
    assert.equal(await store.renew([again!], 60_000), []);
    await store.ack(again!, "success");
  }
});

text("256 bytes are too many, in both layers (R-54)", async () => {
  const long = "é".repeat(128);
  for (const job of [
    { queue: long },
    { partitionKey: long },
    { rateClass: long },
    { id: long },
    { stickyWorker: long },
  ]) {
    const error = await storeError(store.enqueue([{ kind: "task", ...job }]));
    assert.is(error.code, "invalid", JSON.stringify(job));
    assert.is(error.sqlstate, "HR007");
  }
  assert.is((await storeError(store.enqueue([{ kind: "task", id: "" }]))).code, "invalid");
  assert.is((await storeError(store.claimDuty("", "h", 1000))).code, "invalid");
  assert.is((await storeError(store.claimDuty(long, "h", 1000))).code, "invalid");
  assert.is((await storeError(store.heartbeatWorker({ workerId: long }))).code, "invalid");
  const [job] = await store.enqueue([{ kind: "task", queue: "" }]);
  assert.is((await store.getJob(job?.id ?? ""))?.queue, "default");
});

text("a host's name never keeps a worker from counting as alive", async () => {
  await store.heartbeatWorker({ workerId: "odd host", host: "h\0st \ud83d" });
  assert.is(
    (await store.listWorkers()).find(({ workerId }) => workerId === "odd host")?.host,
    "h\ufffdst \ufffd",
  );
});

text.run();
