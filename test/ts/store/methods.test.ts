import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, supportedSchema, type AckOutcome, type Claim, type Job } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";
import { moveClock } from "../support/jobs.js";
import { storeError } from "../support/store-error.js";

const methods = suite("store methods");
const database = await testDatabase();
const store = new PgStore(database.pool, { schema: database.schema });

methods.after(() => database.close());

let queues = 0;
const freshQueue = (): string => `methods-${++queues}`;

async function enqueueOne(job: Partial<Job> = {}): Promise<string> {
  const [one] = await store.enqueue([{ kind: "task", ...job }]);
  assert.ok(one);
  return one.id;
}

async function claimOne(job: Partial<Job> = {}): Promise<Claim> {
  const queue = job.queue ?? freshQueue();
  await enqueueOne({ retentionMs: 60_000, ...job, queue });
  const [claim] = await store.admit({ worker: "w1", queues: [queue], capacity: 1, leaseMs: 600_000 });
  assert.ok(claim);
  return claim;
}

const stateOf = async (id: string): Promise<string | undefined> => (await store.getJob(id))?.state;

methods("every door of the schema is a method", async () => {
  const doors = await database.query<{ door: string }>("select distinct door from :SCHEMA.doors()");
  const views = ["jobs", "queues", "workers", "schedules"];
  /** The parts of methods that have another name. */
  const parts: Record<string, string> = {
    ack_batch: "ackMany",
    admit_hinted: "admit",
    channel: "waitWakeup",
    enqueue_many: "enqueue",
    fingerprint: "enqueue",
    get_job_bare: "getJob",
    get_job_with_payload: "getJob",
    list_schedules_with_payload: "listSchedules",
    quarantine_bare: "quarantineList",
    quarantine_sample: "quarantineList",
    reindexable: "reindexConcurrently",
  };
  const missing = doors
    .map(({ door }) => door)
    // PostgresQueueBackend is a face of its own.
    .filter((door) => !views.includes(door) && !door.startsWith("backend_"))
    .map((door) => parts[door] ?? door.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()))
    .filter((name) => typeof Object.getOwnPropertyDescriptor(PgStore.prototype, name)?.value !== "function");
  assert.equal(missing, []);
});

methods("enqueue and admit: what goes in comes out", async () => {
  const queue = freshQueue();
  const job: Job = {
    id: "in and out",
    kind: "email:welcome",
    payload: { to: "ada" },
    queue,
    partitionKey: "acme",
    rateClasses: ["smtp", "mail"],
    weight: 3,
    priority: -7,
    maxAttempts: 4,
    timeoutMs: 1_000,
    deadlineMs: 4_000_000_000_000,
    retentionMs: 60_000,
    headers: { trace: "00-1" },
    tags: ["b", "a"],
    schemaVersion: 2,
  };
  assert.equal(await store.enqueue([job]), [
    { id: "in and out", disposition: "inserted", existingId: null, replaced: false },
  ]);
  const claims = await store.admit({ worker: "w1", queues: [queue], leaseMs: 60_000, leaseId: "lease" });
  assert.is(claims.length, 1);
  assert.equal(claims.refused, {});
  const { payload, fence, expiresAtMs, enqueuedAtMs, scheduledAtMs, ...rest } = claims[0]!;
  assert.equal(rest, {
    id: "in and out",
    jobId: "in and out",
    kind: "email:welcome",
    queue,
    partitionKey: "acme",
    rateClasses: ["mail", "smtp"],
    weight: 3,
    priority: -7,
    attempt: 0,
    crashAttempt: 0,
    maxAttempts: 4,
    timeoutMs: 1_000,
    deadlineMs: 4_000_000_000_000,
    headers: { trace: "00-1" },
    schemaVersion: 2,
    leaseId: "lease",
    checkpoint: null,
    cursor: null,
  });
  assert.is(payload.toString(), '{"to":"ada"}');
  assert.is(typeof fence, "bigint");
  assert.ok(expiresAtMs - enqueuedAtMs >= 60_000);
  assert.ok(scheduledAtMs <= enqueuedAtMs);
  const summary = await store.getJob("in and out", true);
  assert.equal(summary?.tags, ["a", "b"]);
  assert.equal(summary?.headers, { trace: "00-1" });
  assert.is(summary?.fence, fence);
  assert.is(summary?.claimedBy, "w1");
  await store.ack(claims[0]!, "success");
});

methods("admit and ackMany: a fence beyond 2^53, and names that arrays quote", async () => {
  const queue = freshQueue();
  const odd = 'odd "ids", {with} \\ ∅';
  const rateClasses = ['a,"b" \\', "NULL", "{c}", "ünï"];
  await enqueueOne({ id: odd, queue, partitionKey: "", rateClasses, retentionMs: 60_000 });
  await database.query("update :SCHEMA.job set fence = 9007199254740992 where queue = $1", [queue]);
  const [claim] = await store.admit({ worker: "w1", queues: [queue], leaseId: 'lease "1"' });
  assert.ok(claim);
  assert.is(claim.fence, 9007199254740993n);
  assert.equal(claim.rateClasses, rateClasses.toSorted());
  assert.equal([claim.id, claim.leaseId, claim.partitionKey], [odd, 'lease "1"', ""]);
  const ack = { jobId: odd, leaseId: claim.leaseId, outcome: "success" } as const;
  assert.equal(
    await store.ackMany([
      { ...ack, fence: claim.fence - 1n },
      { ...ack, fence: claim.fence },
    ]),
    [
      { jobId: odd, rejected: true, state: null },
      { jobId: odd, rejected: false, state: "completed" },
    ],
  );
});

methods("enqueue: a batch is in order, and all or nothing", async () => {
  const queue = freshQueue();
  const rows = await store.enqueue(["c", "a", "b"].map((id) => ({ kind: "task", queue, id: `order/${id}` })));
  assert.equal(
    rows.map(({ id }) => id),
    ["order/c", "order/a", "order/b"],
  );
  const error = await storeError(
    store.enqueue([
      { kind: "task", queue, id: "order/new" },
      { kind: "other", queue, id: "order/a" },
    ]),
  );
  assert.is(error.code, "id_conflict");
  assert.is(error.sqlstate, "HR002");
  assert.is(error.fields.job_id, "order/a");
  assert.is(await store.getJob("order/new"), null);
  assert.equal(
    (await store.enqueue([{ kind: "task", queue, id: "order/a" }])).map(({ disposition }) => disposition),
    ["replayed"],
  );
  assert.is((await storeError(store.enqueue([]))).code, "invalid");
});

methods("enqueue: duplicates, and what they may replace", async () => {
  const queue = freshQueue();
  const holder = await enqueueOne({ queue, uniqueKey: "k", payload: 1 });
  const error = await storeError(store.enqueue([{ kind: "task", queue, uniqueKey: "k", payload: 2 }]));
  assert.is(error.code, "duplicate");
  assert.equal(error.fields, { existing_id: holder, replaced: false });
  assert.not(error.retryable);
  const [replaced] = await store.enqueue([
    { kind: "task", queue, uniqueKey: Buffer.from("k"), payload: 3, uniqueReplace: ["payload"] },
  ]);
  assert.equal(replaced, { id: holder, disposition: "replaced", existingId: holder, replaced: true });
  assert.is((await store.getJob(holder, true))?.payload?.toString(), "3");
  // The same key under another kind is another key, unless it is global.
  await store.enqueue([{ kind: "other", queue, uniqueKey: "k" }]);
  await store.enqueue([{ kind: "task", queue, uniqueKey: "g", uniqueScope: "global" }]);
  assert.is(
    (await storeError(store.enqueue([{ kind: "other", queue, uniqueKey: "g", uniqueScope: "global" }]))).code,
    "duplicate",
  );
});

methods("enqueue: of many that want one key at once, one gets it", async () => {
  const queue = freshQueue();
  const all = await Promise.allSettled(
    Array.from({ length: 20 }, () => store.enqueue([{ kind: "task", queue, uniqueKey: "one" }])),
  );
  assert.is(all.filter(({ status }) => status === "fulfilled").length, 1);
  for (const one of all) if (one.status === "rejected") assert.is(one.reason.code, "duplicate");
  assert.is((await store.counts(queue)).byState.available, 1);
});

methods("enqueue: backpressure and quarantine", async () => {
  const queue = freshQueue();
  await store.setEnqueueLimit(queue, 2);
  await store.enqueue([{ kind: "task", queue }]);
  const full = await storeError(
    store.enqueue([
      { kind: "task", queue },
      { kind: "task", queue },
    ]),
  );
  assert.is(full.code, "backpressure");
  assert.ok(full.retryable);
  assert.equal(full.fields, { queue, limit: 2, current: 1, incoming: 2 });
  assert.is((await store.counts(queue)).byState.available, 1);

  const poison = { kind: "task", queue: freshQueue(), payload: "poison", maxAttempts: 100 };
  await store.enqueue([poison]);
  for (let crash = 0; crash < 3; crash++) {
    await moveClock(database, 3_600_000);
    await store.promoteDue();
    await store.admit({ worker: "w1", queues: [poison.queue], leaseMs: 1 });
    await moveClock(database, 10);
    await store.reclaimExpired();
  }
  const refused = await storeError(store.enqueue([poison]));
  assert.is(refused.code, "quarantined");
  const [entry] = await store.quarantineList();
  assert.is(refused.fields.fingerprint, entry?.fingerprint);
  assert.is(entry?.samplePayload?.toString(), '"poison"');
  assert.is(await store.quarantineRelease(entry?.fingerprint ?? ""), 1);
  assert.is((await storeError(store.quarantineRelease("nothing"))).code, "not_found");
});

methods("admit: capacity, quantum, order, sleep until the next", async () => {
  const queue = freshQueue();
  const none = await store.admit({ worker: "w1", queues: [queue] });
  assert.equal([none.length, none.refused, none.nextDueMs], [0, {}, null]);
  const before = Date.now();
  await enqueueOne({ queue, delayMs: 60_000 });
  const [low, high] = [await enqueueOne({ queue, priority: 1 }), await enqueueOne({ queue, priority: 2 })];
  await store.enqueue(Array.from({ length: 5 }, () => ({ kind: "task", queue, partitionKey: "other" })));
  assert.equal((await store.admit({ worker: "w1", queues: [queue], capacity: 0 })).slice(), []);
  const claims = await store.admit({ worker: "w1", queues: [queue], capacity: 4, quantum: 2 });
  assert.is(claims.length, 4);
  assert.equal(
    claims.filter(({ partitionKey }) => partitionKey === "").map(({ id }) => id),
    [high, low],
  );
  assert.is(new Set(claims.map(({ leaseId }) => leaseId)).size, 1);
  const clock = await database.query<{ now: string }>("select :SCHEMA.now_ms() as now");
  const ahead = Number(clock[0]?.now) - before;
  assert.ok(Math.abs(claims.storeNowMs - before - ahead) < 10_000, String(claims.storeNowMs));
  assert.ok((claims.nextDueMs ?? 0) >= before + ahead + 50_000 - 10_000, String(claims.nextDueMs));
  for (const request of [
    { worker: "", queues: [queue] },
    { worker: "w", queues: [queue], capacity: -1 },
    { worker: "w", queues: [queue], leaseMs: 0 },
  ]) {
    assert.is((await storeError(store.admit(request))).code, "invalid", JSON.stringify(request));
  }
});

methods("admit: refusals are counted by reason", async () => {
  const queue = freshQueue();
  await store.upsertRateClass({ name: "counted", limitPerWindow: 1, windowMs: 3_600_000 });
  await store.enqueue(Array.from({ length: 3 }, () => ({ kind: "task", queue, rateClass: "counted" })));
  const claims = await store.admit({ worker: "w1", queues: [queue] });
  assert.is(claims.length, 1);
  assert.ok((claims.refused["rate_class"] ?? 0) >= 1, JSON.stringify(claims.refused));
  const waiting = (await store.listJobs({ queue, state: "available" })).jobs[0];
  assert.is((await store.explainAdmission(waiting?.id ?? ""))?.reason, "rate_class");
  assert.is(await store.explainAdmission("nobody"), null);
});

methods("admit: eight at once never claim the same job", async () => {
  const queue = freshQueue();
  await store.enqueue(Array.from({ length: 200 }, () => ({ kind: "task", queue })));
  const seen: string[] = [];
  await Promise.all(
    Array.from({ length: 8 }, async (_, worker) => {
      for (;;) {
        const claims = await store.admit({ worker: `w${worker}`, queues: [queue], capacity: 7 });
        if (claims.length === 0) return;
        seen.push(...claims.map(({ id }) => id));
      }
    }),
  );
  assert.is(seen.length, 200);
  assert.is(new Set(seen).size, 200);
});

const outcomes: Record<AckOutcome, string> = {
  success: "completed",
  retry: "retryable",
  skip: "archived",
  revoke: "deleted",
  snooze: "scheduled",
  rate_limited: "available",
  undecodable: "undecodable",
  checkpoint_stale: "undecodable",
};

methods("ack: each outcome, and the second one is rejected", async () => {
  for (const [outcome, state] of Object.entries(outcomes) as [AckOutcome, string][]) {
    const claim = await claimOne();
    const detail = { error: outcome === "success" ? undefined : `because of ${outcome}`, delayMs: 3_600_000 };
    assert.is(await store.ack(claim, outcome, detail), state, outcome);
    assert.is(await stateOf(claim.id), state === "deleted" ? undefined : state);
    const second = await storeError(store.ack(claim, outcome, detail));
    assert.is(second.code, "lease_rejected", outcome);
    assert.is(second.fields.job_id, claim.id);
  }
  const claim = await claimOne();
  assert.is((await storeError(store.ack(claim, "snooze"))).fields.field, "delay_ms");
  assert.is((await storeError(store.ack(claim, "lease_lost" as AckOutcome))).code, "invalid");
  assert.is(
    (await storeError(store.ack({ ...claim, fence: claim.fence + 1n }, "success"))).code,
    "lease_rejected",
  );
  assert.is(
    (await storeError(store.ack({ ...claim, leaseId: "another" }, "success"))).code,
    "lease_rejected",
  );
  assert.is(await stateOf(claim.id), "running");
  assert.is(await store.ackAttempt(claim, "retry", { delayMs: 0, logs: ["a"] }), "retryable");
  const other = await claimOne();
  assert.is(await store.ackAttemptWithActualWeight(other, "success", { actualWeight: 2 }), "completed");
});

methods("ack: of two at once one is rejected", async () => {
  for (let round = 0; round < 10; round++) {
    const claim = await claimOne();
    const results = await Promise.allSettled([store.ack(claim, "success"), store.ack(claim, "skip")]);
    const rejected = results.filter((result) => result.status === "rejected");
    assert.is(rejected.length, 1);
    assert.is(rejected[0]?.reason.code, "lease_rejected");
  }
});

methods("ackMany: a row each, in order; one bad lease disturbs nobody", async () => {
  assert.equal(await store.ackMany([]), []);
  const [a, b, c] = [await claimOne(), await claimOne(), await claimOne()];
  const rows = await store.ackMany([
    { ...a, outcome: "success", result: Buffer.from("r"), resultSchemaVersion: 3 },
    { ...b, fence: 99n, outcome: "success" },
    { jobId: "nobody", leaseId: "l", fence: 1n, outcome: "success" },
    { ...c, outcome: "retry", delayMs: 0, error: "e" },
    { ...a, outcome: "success" },
  ]);
  assert.equal(rows, [
    { jobId: a.id, rejected: false, state: "completed" },
    { jobId: b.id, rejected: true, state: null },
    { jobId: "nobody", rejected: true, state: null },
    { jobId: c.id, rejected: false, state: "retryable" },
    { jobId: a.id, rejected: true, state: null },
  ]);
  assert.equal(await store.getJobResult(a.id), { schemaVersion: 3, bytes: Buffer.from("r") });
  assert.is(await stateOf(b.id), "running");
  const invalid = await storeError(
    store.ackMany([
      { ...b, outcome: "success" },
      { ...c, outcome: "nonsense" as AckOutcome },
    ]),
  );
  assert.is(invalid.code, "invalid");
  assert.is(invalid.fields["field"], "outcome");
  assert.match(String(invalid.fields["reason"]), /^is unknown: nonsense \(ack 2\)$/);
  assert.is(await stateOf(b.id), "running");
});

methods("ackSuccessWithResult keeps the result with the job", async () => {
  const claim = await claimOne();
  const bytes = Buffer.from([0, 1, 255]);
  assert.is(
    await store.ackSuccessWithResult(claim, { bytes }, { logs: ["done"], actualWeight: 1 }),
    "completed",
  );
  assert.equal(await store.getJobResult(claim.id), { schemaVersion: 1, bytes });
  assert.equal((await store.listAttempts(claim.id))[0]?.logs, ["done"]);
  assert.is((await storeError(store.ackSuccessWithResult(claim, { bytes }))).code, "lease_rejected");
  const other = await claimOne();
  assert.is(
    (await storeError(store.ackSuccessWithResult(other, { schemaVersion: 0, bytes }))).code,
    "invalid",
  );
});

methods("renew answers what is lost and never fails because of it", async () => {
  assert.equal(await store.renew([], 1_000), []);
  const queue = freshQueue();
  await store.enqueue(Array.from({ length: 3 }, (_, n) => ({ kind: "task", queue, id: `renew/${n}` })));
  const claims = await store.admit({ worker: "w1", queues: [queue], leaseMs: 10_000 });
  const [first, second] = claims;
  assert.ok(first && second);
  await store.ack(first, "success");
  const lost = await store.renew([...claims, { jobId: "nobody", leaseId: "l", fence: 1n }], 600_000);
  assert.equal(lost, [first.id, "nobody"]);
  const expiry = (await store.getJob(second.id))?.leaseExpiresAtMs ?? 0;
  assert.ok(expiry > second.expiresAtMs + 500_000);
  // An expired lease that nobody took is revived.
  await moveClock(database, 601_000);
  assert.equal(await store.renew([second], 60_000), []);
  assert.is((await storeError(store.renew([second], 0))).code, "invalid");
});

methods("release hands back in place, with nothing spent", async () => {
  const claim = await claimOne();
  await store.release(claim);
  const job = await store.getJob(claim.id);
  assert.equal([job?.state, job?.attempt, job?.scheduledAtMs], ["available", 0, claim.scheduledAtMs]);
  assert.is((await storeError(store.release(claim))).code, "lease_rejected");
});

methods("checkpoint: the next attempt gets it; a superseded holder does not write", async () => {
  const queue = freshQueue();
  const claim = await claimOne({ queue });
  const cursor = Buffer.from([0, 9]);
  await store.checkpoint(claim, { completed: ["fetch"], inProgress: "parse", version: 7, cursor });
  await store.ack(claim, "rate_limited");
  const [again] = await store.admit({ worker: "w2", queues: [queue] });
  assert.equal(again?.checkpoint, { completed: ["fetch"], in_progress: "parse", version: 7 });
  assert.equal(again?.cursor, cursor);
  assert.ok((again?.fence ?? 0n) > claim.fence);
  assert.is((await storeError(store.checkpoint(claim, { completed: [] }))).code, "lease_rejected");
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  assert.is((await storeError(store.checkpoint(again!, circle))).fields.field, "checkpoint");
  await store.complete(again!);
  assert.is(await stateOf(claim.id), "completed");
  assert.is((await storeError(store.complete(again!))).code, "lease_rejected");
});

methods("output and progress are the holder's to write and anybody's to read", async () => {
  const claim = await claimOne();
  assert.is(await store.getJobProgress(claim.id), null);
  const written = await store.writeJobProgress(claim, { current: 1, total: 3, message: "one" });
  assert.equal(await store.getJobProgress(claim.id), written);
  assert.is(written.fence, claim.fence);
  assert.is((await storeError(store.writeJobProgress(claim, { current: 4, total: 3 }))).code, "invalid");
  const nul = { current: 1, total: 3, message: "a\0b" };
  assert.is((await storeError(store.writeJobProgress(claim, nul))).code, "invalid");
  const output = await store.writeJobOutput(claim, { bytes: Buffer.from("so far") });
  assert.equal(await store.getJobOutput(claim.id), output);
  await store.ack(claim, "success");
  assert.is(
    (await storeError(store.writeJobOutput(claim, { bytes: Buffer.alloc(0) }))).code,
    "lease_rejected",
  );
});

methods("sweeps: what is due, expired, or past its time", async () => {
  const queue = freshQueue();
  const [later] = [await enqueueOne({ queue, delayMs: 3_000_000 })];
  const done = await claimOne({ retentionMs: 1_000 });
  await store.ack(done, "success");
  const running = await claimOne({ queue });
  const dead = await enqueueOne({ queue: freshQueue(), deadlineMs: (done.enqueuedAtMs || 0) + 1_000_000 });
  await store.promoteDue();
  assert.is(await stateOf(later), "scheduled");
  await moveClock(database, 4_000_000);
  assert.ok((await store.expireDeadlines()) >= 1);
  assert.is(await stateOf(dead), "archived");
  assert.ok((await store.promoteDue()) >= 1);
  assert.is(await stateOf(later), "available");
  const reclaimed = await store.reclaimExpired();
  assert.equal(
    reclaimed.find(({ id }) => id === running.id),
    { id: running.id, crashAttempt: 1, quarantined: false },
  );
  assert.ok((await store.evictRetained()) >= 1);
  assert.is(await store.getJob(done.id), null);
  assert.type(await store.janitor(), "number");
  assert.type(await store.rollUpTallies(), "number");
  assert.is(await store.quarantineSweep(), 0);
  for (const sweep of [
    "promoteDue",
    "reclaimExpired",
    "evictRetained",
    "janitor",
    "quarantineSweep",
  ] as const) {
    assert.is((await storeError(store[sweep](0))).code, "invalid", sweep);
  }
});

methods("duties: one holder at a time, and all of them in one call", async () => {
  assert.is(await store.claimDuty("d", "a", 60_000), true);
  assert.is(await store.claimDuty("d", "b", 60_000), false);
  assert.is(await store.claimDuty("d", "a", 60_000), true);
  await store.releaseDuty("d", "b");
  assert.is(await store.claimDuty("d", "b", 60_000), false);
  await store.releaseDuty("d", "a");
  assert.is(await store.claimDuty("d", "b", 60_000), true);
  assert.is((await storeError(store.claimDuty("d", "b", 0))).code, "invalid");
  const race = await Promise.all(
    Array.from({ length: 8 }, (_, n) => store.claimDuty("raced", `h${n}`, 60_000)),
  );
  assert.is(race.filter(Boolean).length, 1);

  const ran = await store.runDuties("me");
  assert.equal(ran.map(({ duty }) => duty).sort(), (await store.dutyNames()).slice().sort());
  assert.ok(ran.every(({ did, error }) => typeof did === "number" && error === null));
  assert.equal(await store.runDuties("another"), []);
  assert.equal(
    (await store.runDuties("me", { duties: ["promote_due"], maxRows: 10, leaseMs: 1_000 })).map(
      ({ duty }) => duty,
    ),
    ["promote_due"],
  );
  assert.is((await storeError(store.runDuties("me", { duties: ["nonsense"] }))).code, "invalid");
});

methods("getJob, listJobs, counts, listAttempts", async () => {
  const queue = freshQueue();
  const ids: string[] = [];
  for (let n = 0; n < 5; n++)
    ids.unshift(await enqueueOne({ queue, tags: n % 2 ? ["odd"] : ["even", "all"] }));
  const first = await store.listJobs({ queue }, null, 2);
  assert.equal(
    first.jobs.map(({ id }) => id),
    ids.slice(0, 2),
  );
  const rest: string[] = [];
  for (let cursor = first.nextCursor; cursor !== null;) {
    const page = await store.listJobs({ queue }, cursor, 2);
    rest.push(...page.jobs.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  assert.equal(rest, ids.slice(2));
  assert.equal(
    (await store.listJobs({ queue, tagsAny: ["odd"] })).jobs.map(({ id }) => id),
    [ids[1], ids[3]],
  );
  assert.is((await store.listJobs({ queue, state: "running" })).jobs.length, 0);
  assert.is((await storeError(store.listJobs({}, "nonsense"))).code, "invalid");
  assert.is((await storeError(store.listJobs({}, null, 201))).code, "invalid");
  assert.is((await storeError(store.listJobs({ nonsense: 1 } as never))).code, "invalid");

  const counts = await store.counts(queue);
  assert.equal([counts.byState.available, counts.byState.running, counts.approximate], [5, 0, false]);
  assert.ok((await store.counts()).byState.available >= 5);

  assert.is(await store.getJob("nobody"), null);
  assert.equal(await store.listAttempts("nobody"), []);
  const [claim] = await store.admit({ worker: "w1", queues: [queue], capacity: 1 });
  await store.ack(claim!, "retry", { error: "first", delayMs: 0 });
  const [attempt] = await store.listAttempts(claim!.id, 1);
  assert.is(attempt?.error, "first");
  assert.is(attempt?.fence, claim!.fence);
  assert.is(attempt?.worker, "w1");
  assert.is((await storeError(store.listAttempts(claim!.id, 0))).code, "invalid");
});

methods("workers: heartbeats, commands, sleep", async () => {
  const worker = {
    workerId: "beat",
    incarnation: "i1",
    host: "h",
    pid: 7,
    queues: ["a", "b"],
    concurrency: 4,
    inflight: 1,
    polls: 10,
    emptyPolls: 3,
    status: "running",
    dutiesActive: false,
  };
  assert.is(await store.heartbeatWorker(worker), null);
  const found = (await store.listWorkers()).find(({ workerId }) => workerId === "beat");
  const { startedAtMs, heartbeatAtMs, command, lastCommand, lastCommandAtMs, ...rest } = found!;
  assert.equal(rest, worker);
  assert.equal([command, lastCommand, lastCommandAtMs], [null, null, null]);
  assert.ok(heartbeatAtMs >= startedAtMs);
  await store.signalWorker("beat", "quiet");
  assert.is(await store.heartbeatWorker(worker), "quiet");
  assert.is(await store.heartbeatWorker(worker), null);
  assert.is((await storeError(store.signalWorker("nobody", "quiet"))).code, "not_found");
  assert.is((await storeError(store.heartbeatWorker({ ...worker, inflight: -1 }))).code, "invalid");
  await moveClock(database, 2_000);
  assert.equal(await store.listWorkers(1_000), []);
  await store.declareSleep("beat", ["a"], 1_000);
  assert.is((await storeError(store.declareSleep("beat", [], 0))).code, "invalid");
});

methods("limits: rate classes, ceilings, partitions", async () => {
  const queue = freshQueue();
  await store.upsertRateClass({ name: "sms", limitPerWindow: 5, windowMs: 60_000, burst: 2 });
  const sms = (await store.rateClasses()).find(({ name }) => name === "sms");
  assert.equal(
    [sms?.limitPerWindow, sms?.windowMs, sms?.burst, sms?.paused, sms?.tokens],
    [5, 60_000, 2, false, 2],
  );
  await store.deferRateClass("sms", 60_000);
  assert.ok((await store.rateClasses()).find(({ name }) => name === "sms")?.deferredUntilMs);
  await store.deleteRateClass("sms");
  assert.is((await storeError(store.deleteRateClass("sms"))).code, "not_found");
  assert.is((await storeError(store.upsertRateClass({ name: "x", limitPerWindow: -1 }))).code, "invalid");

  await store.upsertConcurrencyLimit({ name: "two", queue, maxConcurrent: 2, onSaturated: "queue" });
  await store.enqueue(Array.from({ length: 3 }, () => ({ kind: "task", queue, partitionKey: "p" })));
  const claims = await store.admit({ worker: "w1", queues: [queue] });
  assert.is(claims.length, 2);
  assert.equal(
    (await store.concurrencyLimits()).find(({ name }) => name === "two"),
    { name: "two", queue, maxConcurrent: 2, onSaturated: "queue", running: 2 },
  );
  const [partition] = await store.partitions(queue);
  assert.equal([partition?.partitionKey, partition?.waiting, partition?.running], ["p", 1, 2]);
  assert.is(partition?.heldBack, "concurrency_limit");
  const clash = store.upsertConcurrencyLimit({ name: "other", queue, maxConcurrent: 1 });
  assert.is((await storeError(clash)).code, "invalid");
  await store.deleteConcurrencyLimit("two");
  assert.is((await storeError(store.deleteConcurrencyLimit("two"))).code, "not_found");
});

methods("parts of a store, for code that takes any", async () => {
  assert.is(store.schema, database.schema);
  assert.is(store.transactional?.claimEffect, store.claimEffect);
  assert.is(store.inspect?.getJob, store.getJob);
  assert.is(store.resultStore?.ackSuccessWithResult, store.ackSuccessWithResult);
  assert.is(store.outputStore?.writeJobOutput, store.writeJobOutput);
  assert.is(store.progressStore?.writeJobProgress, store.writeJobProgress);
  assert.is(store.notifying, undefined);
  assert.ok(store.caps.has("transactional") && store.caps.has("inspect"));
  const version = await store.checkSchema();
  assert.ok(version >= supportedSchema.oldest && version <= supportedSchema.newest);
  assert.equal(await store.verifyInvariants(), []);
});

methods.run();
