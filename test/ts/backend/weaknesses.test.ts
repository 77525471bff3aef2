// timeout: 300 s
import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PostgresQueueBackend, TaskRuntime } from "../../../src/index.js";
import { moveClock } from "../support/jobs.js";
import { claimed, enqueue, fresh, job, refused, statusOf, testBackend, threeTimes } from "./support.js";

/** What went wrong in queues of this shape, one case each; and what their tests did not look at. */
const weaknesses = suite("backend weaknesses");
const { database, backend } = await testBackend({ poolSize: 12 });
const other = await PostgresQueueBackend.fromPool(database.pool, { schema: database.schema });
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const { query } = database;

weaknesses.after(() => database.close());

const runsOf = async (id: string) =>
  (await backend.listRuns(id)).map(({ status, attempt }) => [attempt, status] as const);
const core = async (id: string): Promise<Record<string, unknown>> =>
  (await query("select state, crash_attempt, attempt from :SCHEMA.get_job($1)", [id]))[0] ?? {};

/** Claims a job with a lease that is over at once, and lets the reclaimer take it back. */
async function crash(id: string): Promise<string> {
  const claim = await backend.tryClaimJob(id, { leaseMs: 1 });
  assert.ok(claim?.runId);
  await sleep(5);
  await backend.store.reclaimExpired();
  return claim.runId;
}

weaknesses("1: a holder that stalled does not write over its successor", async () => {
  const id = await enqueue(backend, {}, threeTimes);
  const stale = await crash(id);
  await moveClock(database, 2000);
  const claim = await other.tryClaimJob(id);
  assert.is(claim?.fence, 2n);
  const error = await refused(backend.finishRun(stale, "success"), "lease_rejected");
  assert.is(error.fields.job_id, id);
  await refused(backend.upsertJob(job({ jobId: id, status: "success", runId: stale })), "lease_rejected");
  await refused(backend.revertJobToQueued(id), "lease_rejected");
  assert.is(await statusOf(backend, id), "running");
  await other.finishRun(claim?.runId ?? "", "success");
  await refused(backend.finishRun(stale, "failed"), "lease_rejected");
  await refused(backend.upsertJob(job({ jobId: id, status: "queued" })), "illegal_transition");
  assert.is(await statusOf(backend, id), "success");
  assert.equal(await runsOf(id), [
    [1, "success"],
    [1, "failed"],
  ]);
});

weaknesses("2: a retry waits without a lease, and nobody takes it before its time", async () => {
  const { jobId, runId } = await claimed(
    backend,
    {},
    { retryPolicy: { maxAttempts: 3, baseDelayMs: 60_000 } },
  );
  await backend.finishRun(runId, "failed", 5, "later");
  const waiting = await backend.getJob(jobId);
  assert.equal([waiting?.status, waiting?.attempt, waiting?.leaseId], ["queued", 2, null]);
  assert.ok((waiting?.scheduledAtMs ?? 0) >= (waiting?.createdAtMs ?? 0) + 60_000);
  assert.is(await backend.tryClaimJob(jobId), null);
  await backend.store.reclaimExpired();
  assert.equal(await core(jobId), { state: "retryable", crash_attempt: 0, attempt: 1 });
  await moveClock(database, 70_000);
  assert.is((await backend.tryClaimJob(jobId))?.attempt, 2);
});

weaknesses("3: a cancel during back-off, or before the end is told, stands", async () => {
  const retry = { retryPolicy: { maxAttempts: 3, baseDelayMs: 1 } };
  const first = await claimed(backend, {}, retry);
  await backend.finishRun(first.runId, "failed");
  await backend.cancelJobIfActive(first.jobId);
  await moveClock(database, 10_000);
  assert.is(await backend.tryClaimJob(first.jobId), null);
  const second = await claimed(backend, {}, retry);
  await other.cancelJobIfActive(second.jobId);
  for (const status of ["success", "failed", "timeout"] as const) {
    await refused(backend.finishRun(second.runId, status), "lease_rejected");
  }
  await refused(backend.extendLease(second.runId, 60), "lease_rejected");
  for (const { jobId } of [first, second]) assert.is(await statusOf(backend, jobId), "canceled");
  assert.equal(await runsOf(second.jobId), [[1, "canceled"]]);
});

weaknesses("4: an error of the database in the middle of a run is no verdict", async () => {
  const taskName = fresh("cut");
  const tasks = {
    [taskName]: async (): Promise<void> => {
      // Whatever the worker holds or waits on breaks.
      await query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      );
      await sleep(800);
    },
  };
  const runtime = new TaskRuntime(backend, {
    tasks,
    pools: [taskName],
    logger: silent,
    lease: "2s",
    duties: false,
  });
  const id = await enqueue(backend, { taskName, pool: taskName });
  const worker = runtime.worker();
  await worker.start();
  for (let turn = 0; turn < 200 && (await statusOf(backend, id).catch(() => "?")) !== "success"; turn++)
    await sleep(50);
  await worker.stop();
  assert.is(await statusOf(backend, id), "success");
  assert.equal(await runsOf(id), [[1, "success"]]);
});

weaknesses("5: the words of an error decide nothing, and neither does a missing configuration", async () => {
  const { jobId, runId } = await claimed(backend, { taskName: fresh("words") }, threeTimes);
  await backend.finishRun(runId, "failed", null, "job canceled");
  assert.is(await statusOf(backend, jobId), "queued");
  assert.is((await backend.getJob(jobId))?.attempt, 2);
});

weaknesses("6: the same id is a replay or a conflict, never a reset", async () => {
  const one = job({ taskName: fresh("same"), signatureHash: 5n });
  assert.is((await backend.enqueueWithPolicies(one))[1], "inserted_new");
  const claim = await backend.tryClaimJob(one.jobId ?? "");
  assert.equal(await backend.enqueueWithPolicies(one), [one.jobId, "reused_idempotent"]);
  await backend.upsertJob({ ...one, status: "running" });
  for (const change of [
    { paramsJson: '{"other":1}' },
    { taskName: "another" },
    { pool: "elsewhere" },
    { actorJson: "null" },
    { signatureHash: 6n },
  ]) {
    const error = await refused(backend.enqueueWithPolicies({ ...one, ...change }), "id_conflict");
    assert.is(error.fields.job_id, one.jobId);
    await refused(backend.upsertJob({ ...one, ...change }), "id_conflict");
  }
  const still = await backend.getJob(one.jobId ?? "");
  assert.equal([still?.status, still?.runId], ["running", claim?.runId]);
  await backend.finishRun(claim?.runId ?? "", "success");
  assert.equal(await backend.enqueueWithPolicies(one), [one.jobId, "reused_idempotent"]);
  assert.is(await statusOf(backend, one.jobId ?? ""), "success");
});

weaknesses("7: signatures are exact over 64 bits", async () => {
  for (const signatureHash of [0n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n]) {
    const id = await enqueue(backend, { signatureHash });
    assert.is((await backend.getJob(id))?.signatureHash, signatureHash);
    assert.is((await backend.tryClaimJob(id))?.signatureHash, signatureHash);
  }
  for (const signatureHash of [-1n, 2n ** 64n]) {
    const error = await refused(backend.enqueueWithPolicies(job({ signatureHash })), "invalid");
    assert.is(error.fields.field, "signature_hash");
  }
});

weaknesses("8: a worker that lacks the task puts the job off and spends nothing", async () => {
  const pool = fresh("lacking");
  const id = await enqueue(backend, { taskName: "elsewhere", pool });
  const runtime = new TaskRuntime(backend, {
    tasks: { other: () => undefined },
    pools: [pool],
    logger: silent,
  });
  assert.is(await runtime.tryRunNext(), true);
  assert.equal(await core(id), { state: "scheduled", crash_attempt: 0, attempt: 0 });
  assert.equal(await runsOf(id), []);
});

weaknesses("10: back-off ends at its cap, whatever the numbers", async () => {
  const waits = async (policy: object, attempt: number): Promise<number> => {
    const before = (await query("select :SCHEMA.now_ms() as now"))[0]?.["now"];
    const id = fresh("back");
    await backend.upsertJob(job({ jobId: id, taskName: fresh("backoff"), attempt }));
    await query(
      "update :SCHEMA.job set max_attempts = 2147483647, backoff_base_ms = $2, backoff_multiplier = $3, " +
        "backoff_max_ms = $4 where id = $1",
      [id, ...Object.values(policy)],
    );
    const claim = await backend.tryClaimJob(id);
    await backend.finishRun(claim?.runId ?? "", "failed");
    return ((await backend.getJob(id))?.scheduledAtMs ?? 0) - Number(before);
  };
  const within = async (
    base: number,
    factor: number,
    cap: number,
    attempt: number,
    low: number,
    high: number,
  ) => {
    const wait = await waits({ base, factor, cap }, attempt);
    // The store's clock goes on between the two looks at it.
    assert.ok(wait >= low && wait <= high + 5000, `${base} x ${factor}^${attempt - 1}, cap ${cap}: ${wait}`);
  };
  await within(10_000, 2, 1_000_000, 1, 10_000, 11_000);
  await within(10_000, 2, 1_000_000, 3, 40_000, 44_000);
  await within(10_000, 2, 30_000, 5, 30_000, 30_000);
  await within(10_000, 100, 30_000, 2_000_000_000, 30_000, 30_000);
  await within(315_576_000_000_000, 100, 50_000, 400, 50_000, 50_000);
  await within(20_000, 0, 0, 9, 20_000, 20_000);
  await within(20_000, 2, 0, 1000, 86_400_000, 86_400_000);
  await within(0, 2, 30_000, 9, 0, 0);
  const taskName = fresh("bounds");
  for (const retryPolicy of [
    { maxAttempts: -1 },
    { backoffMultiplier: 0.5 },
    { backoffMultiplier: 101 },
    { maxDelayMs: -1 },
  ]) {
    await refused(backend.upsertTaskConfig({ taskName, retryPolicy }), "invalid");
  }
});

weaknesses(
  "11: an end that could not be written leaves the job with its lease, and it comes back",
  async () => {
    const { jobId, runId } = await claimed(backend, {}, threeTimes, 30_000);
    const client = await database.connect();
    await client.query("begin");
    await client.query(database.sql("select :SCHEMA.backend_finish_run($1, 'success')"), [runId]);
    await client.query("rollback");
    const held = await backend.getJob(jobId);
    assert.equal(
      [held?.status, held?.runId, (await backend.getRun(runId))?.status],
      ["running", runId, "running"],
    );
    await moveClock(database, 31_000);
    const pairs = await backend.expiredLeaseJobPairs();
    assert.ok(pairs.some(([lease, id]) => lease === runId && id === jobId));
    await backend.store.reclaimExpired();
    assert.is(await statusOf(backend, jobId), "queued");
  },
);

weaknesses("12: a heartbeat between the look and the reclaim keeps the job", async () => {
  const { jobId, runId } = await claimed(backend, {}, threeTimes, 20_000);
  await moveClock(database, 21_000);
  assert.ok((await backend.expiredLeaseJobPairs()).some(([, id]) => id === jobId));
  await backend.extendLease(runId, 60);
  await backend.store.reclaimExpired();
  await refused(other.revertJobToQueued(jobId), "lease_rejected");
  assert.is(await statusOf(backend, jobId), "running");
  // Given up, it is queued in the same statement; the revert that follows finds nothing to do.
  await backend.releaseLease(runId);
  assert.equal(await core(jobId), { state: "available", crash_attempt: 0, attempt: 0 });
  await other.revertJobToQueued(jobId);
  assert.is(await backend.getRun(runId), null);
  const after = await crashLate(jobId);
  await backend.releaseLease(after);
  assert.equal(await core(jobId), { state: "retryable", crash_attempt: 1, attempt: 0 });
  await other.revertJobToQueued(jobId);
});

/** Claims a job and lets its lease run out, without a reclaimer. */
async function crashLate(id: string): Promise<string> {
  const claim = await backend.tryClaimJob(id, { leaseMs: 1 });
  assert.ok(claim?.runId);
  await sleep(5);
  return claim.runId;
}

weaknesses("13: there is no claim without a lease", async () => {
  const id = await enqueue(backend);
  await refused(backend.tryClaimJob(id, { leaseMs: 0 }), "invalid");
  await refused(backend.popClaimFromPool("global", { leaseMs: 0 }), "invalid");
  const claim = await backend.tryClaimJob(id);
  assert.ok(claim?.leaseId && claim.expiresAtMs);
});

weaknesses(
  "14: a handler that throws, rejects or breaks its promise's rules hurts only its attempt",
  async () => {
    const pool = fresh("panic");
    const name = { panic: fresh("panic"), odd: fresh("odd"), fine: fresh("fine") };
    const tasks = {
      [name.panic]: () => {
        throw Object.assign(new Error("x".repeat(505) + "😀😀😀😀"), { toString: null });
      },
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what must be survived
      [name.odd]: () => Promise.reject(null),
      [name.fine]: () => undefined,
    };
    const worker = new TaskRuntime(backend, { tasks, pools: [pool], logger: silent, duties: false }).worker();
    const ids: string[] = [];
    for (const taskName of Object.values(name)) ids.push(await enqueue(backend, { taskName, pool }));
    await worker.start();
    for (let turn = 0; turn < 200 && (await backend.listQueuedForPoolSorted(pool)).length > 0; turn++)
      await sleep(20);
    await worker.stop();
    const statuses: (string | undefined)[] = [];
    for (const id of ids) statuses.push(await statusOf(backend, id));
    assert.equal(statuses, ["failed", "failed", "success"]);
  },
);

weaknesses("15: a crash is counted apart, its run is closed, and the third parks the job", async () => {
  const one = job({ paramsJson: JSON.stringify({ deadly: fresh("x") }) });
  const id = await enqueue(backend, one, { retryPolicy: { maxAttempts: 1 } });
  for (let time = 1; time <= 3; time++) {
    await crash(id);
    assert.is((await core(id))["crash_attempt"], time);
    await moveClock(database, 10_000);
  }
  assert.equal(await core(id), { state: "quarantined", crash_attempt: 3, attempt: 0 });
  assert.is(await statusOf(backend, id), "failed");
  assert.equal(await runsOf(id), [
    [1, "failed"],
    [1, "failed"],
    [1, "failed"],
  ]);
  const { fingerprint } = (
    await refused(backend.enqueueWithPolicies({ ...one, jobId: fresh("again") }), "quarantined")
  ).fields;
  assert.ok(fingerprint);
});

weaknesses("17: a slow job does not hold up those behind it", async () => {
  const pool = fresh("slots");
  let quick = 0;
  const tasks = {
    slow: (_: unknown, { signal }: { signal: AbortSignal }) =>
      sleep(60_000, undefined, { signal }).catch(() => undefined),
    quick: () => void quick++,
  };
  const worker = new TaskRuntime(backend, {
    tasks,
    pools: [pool],
    logger: silent,
    duties: false,
    concurrency: 4,
  }).worker();
  const slow = await enqueue(backend, { taskName: "slow", pool, priority: 0 });
  for (let at = 0; at < 10; at++) await enqueue(backend, { taskName: "quick", pool });
  await worker.start();
  for (let turn = 0; turn < 500 && quick < 10; turn++) await sleep(20);
  assert.is(quick, 10);
  assert.is(await statusOf(backend, slow), "running");
  // Stopped gracefully: what can't finish is handed back unharmed (row 23).
  await worker.stop({ mode: "abort" });
  assert.equal(await core(slow), { state: "available", crash_attempt: 0, attempt: 0 });
});

weaknesses("19: a job costs two calls, and params are read when it is claimed", async () => {
  const pool = fresh("cost");
  const id = await enqueue(backend, { pool });
  let calls = 0;
  const watched = new Proxy(database.pool, {
    get(target, name) {
      if (name === "connect") calls++;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value as (...args: unknown[]) => unknown).bind(target) : value;
    },
  });
  const counting = await PostgresQueueBackend.fromPool(watched, { schema: database.schema });
  calls = 0;
  const claim = await counting.popClaimFromPool(pool);
  await counting.finishRun(claim?.runId ?? "", "success");
  assert.is(calls, 2);
  assert.is(await statusOf(backend, id), "success");
});

weaknesses("20: no index of the jobs names what a claim changes", async () => {
  const rows = await query("select indexdef from pg_indexes where tablename = 'job' and schemaname = $1", [
    database.schema,
  ]);
  assert.ok(rows.length > 5);
  for (const { indexdef } of rows)
    assert.not.match(String(indexdef), /\b(state|lease_no|fence|claimed_at_ms)\b/);
});

weaknesses(
  "21: finished jobs stay unless a retention says otherwise, and lists are in a total order",
  async () => {
    const keep = await claimed(backend);
    await backend.finishRun(keep.runId, "success");
    const short = await claimed(backend, { taskName: fresh("short") }, { retentionMs: 1000 });
    await backend.finishRun(short.runId, "success");
    const none = await claimed(backend, { taskName: fresh("none") }, { retentionMs: 0 });
    await backend.finishRun(none.runId, "success");
    assert.is(await statusOf(backend, none.jobId), undefined);
    await moveClock(database, 400 * 86_400_000);
    await query("select :SCHEMA.evict_retained()");
    assert.is(await statusOf(backend, keep.jobId), "success");
    assert.is(await statusOf(backend, short.jobId), undefined);

    const at = 1_700_000_000_000;
    const jobId = fresh("ties");
    for (let n = 0; n < 7; n++) {
      await backend.upsertRun({
        runId: `${jobId}-${n}`,
        jobId,
        taskName: "t",
        status: "success",
        startedAtMs: at,
        finishedAtMs: at,
      });
    }
    const pages: string[] = [];
    for (let skip = 0; skip < 8; skip += 2)
      pages.push(...(await backend.listRuns(jobId, skip, 2)).map(({ runId }) => runId));
    assert.equal(
      pages,
      [6, 5, 4, 3, 2, 1, 0].map((n) => `${jobId}-${n}`),
    );
    assert.is(await backend.countRuns(jobId), 7);
    const whole = (await backend.listJobs(null, 0, 10_000)).map(({ jobId: id }) => id);
    const paged: string[] = [];
    for (let skip = 0; skip < whole.length; skip += 7) {
      paged.push(...(await backend.listJobs(null, skip, 7)).map(({ jobId: id }) => id));
    }
    assert.equal(paged, whole);
  },
);

weaknesses("22: the clock of a client decides nothing", async () => {
  const real = Date.now;
  try {
    Date.now = () => real() + 3_600_000;
    const { jobId, runId } = await claimed(backend, {}, { rateLimitPolicy: { maxEnqueuePerSecond: 5 } });
    const lease = await backend.tryClaimRunLease(fresh("id"), "a", 60);
    assert.ok(lease);
    await backend.extendLease(lease, 60);
    await backend.extendLease(runId, 60);
    assert.equal(
      (await backend.expiredLeaseJobPairs()).filter(([id]) => id === lease || id === runId),
      [],
    );
    Date.now = () => real() - 3_600_000;
    assert.equal(
      await backend.store.reclaimExpired().then((lost) => lost.filter(({ id }) => id === jobId)),
      [],
    );
    assert.is(await statusOf(backend, jobId), "running");
  } finally {
    Date.now = real;
  }
});

weaknesses("23: delayed, transactional, and in batches of claims", async () => {
  const pool = fresh("later");
  const id = await enqueue(backend, { pool, delayMs: 60_000 });
  assert.is(await statusOf(backend, id), "queued");
  assert.is(await backend.tryClaimJob(id), null);
  assert.equal(
    await backend.distinctPoolsQueued().then((pools) => pools.filter((name) => name === pool)),
    [],
  );
  const tx = await backend.store.begin();
  const policy = { rateLimitPolicy: { maxInFlight: 1, maxEnqueuePerSecond: 1 } };
  const taskName = fresh("tx");
  const [inside] = await backend.enqueueWithPolicies(job({ taskName }), policy, { on: tx });
  await tx.rollback();
  assert.is(await backend.getJob(inside), null);
  // Nothing was consumed.
  await enqueue(backend, { taskName }, policy);
  await moveClock(database, 61_000);
  assert.equal(
    (await backend.listQueuedForPoolSorted(pool)).map(({ jobId }) => jobId),
    [id],
  );
  assert.ok((await backend.distinctPoolsQueued()).includes(pool));
  assert.is((await backend.tryClaimJob(id))?.jobId, id);
});

weaknesses("24: errors are stored without secrets, cut on a character", async () => {
  const told: [string, RegExp, RegExp][] = [
    ["postgres://ada:p/w?#@host/db failed", /^postgres:\/\/\*\*\*@host\/db failed$/, /p\/w/],
    ["PASSWORD=hunter2-and-more next", /next$/, /hunter2|and-more/],
    ["password = 'two words' next", /next$/, /two|words/],
    ['{"client_secret": "abcdefghijklmnop", "x": 1}', /"x": 1/, /abcdef|mnop/],
    ["token=aaaaaaaaaaaaaaaa&b=1 token=bbbbbbbbbbbb", /&b=1/, /aaaa|bbbb/],
    ["Authorization: Bearer abc.def.ghi, retry", /, retry$/, /abc|ghi/],
    ["authorization: Basic QWxhZGRpbjpvcGVu== done", /done$/, /QWxh/],
    ["bearer päßwörtchenlang✓ end", /end$/, /päß/],
    ["password=ünïcödé✓✓✓✓✓✓ end", /end$/, /ünï|✓/],
  ];
  for (const [text, kept, gone] of told) {
    const { jobId, runId } = await claimed(backend);
    await backend.finishRun(runId, "failed", 1, text);
    const stored = (await backend.listRuns(jobId))[0]?.errorMessage ?? "";
    assert.match(stored, kept);
    assert.not.match(stored, gone);
    assert.match(stored, "***");
  }
  const { jobId, runId } = await claimed(backend);
  await backend.finishRun(runId, "failed", 1, "é😀".repeat(400) + "\0");
  assert.is((await backend.listRuns(jobId))[0]?.errorMessage, "é😀".repeat(256) + "…");
});

weaknesses("an empty key is no key, and a long one is refused", async () => {
  const [one, first] = await backend.enqueueWithPolicies(job({ idempotencyKey: "" }));
  const [two, second] = await backend.enqueueWithPolicies(job({ idempotencyKey: "" }));
  assert.is.not(one, two);
  assert.equal([first, second], ["inserted_new", "inserted_new"]);
  assert.is(await backend.findNonterminalByIdempotencyKey(""), null);
  assert.is((await backend.getJob(one))?.idempotencyKey, null);
  await refused(backend.enqueueWithPolicies(job({ idempotencyKey: "k".repeat(1025) })), "invalid");
});

weaknesses("revert: by the holder, in its old place, with nothing spent", async () => {
  const pool = fresh("revert");
  const first = await enqueue(backend, { pool });
  const second = await enqueue(backend, { pool });
  const claim = await backend.tryClaimJob(first);
  await refused(other.revertJobToQueued(first), "lease_rejected");
  await refused(other.revertJobToQueued(first, "some-other-run"), "lease_rejected");
  await backend.revertJobToQueued(first);
  assert.equal(
    (await backend.listQueuedForPoolSorted(pool)).map(({ jobId }) => jobId),
    [first, second],
  );
  assert.is((await backend.getJob(first))?.attempt, 1);
  assert.is(await backend.getRun(claim?.runId ?? ""), null);
  await backend.revertJobToQueued(first);
  await refused(backend.revertJobToQueued("nobody"), "not_found");
  const again = await other.tryClaimJob(first);
  await backend.revertJobToQueued(first, again?.runId ?? "");
  assert.is(await statusOf(backend, first), "queued");
});

weaknesses("leases: unknown ones, and reservations that a claim takes over", async () => {
  await refused(backend.extendLease("nothing", 60), "lease_rejected");
  await refused(backend.releaseLease("nothing"), "lease_rejected");
  const id = await enqueue(backend);
  const lease = await backend.tryClaimRunLease(id, "owner", 100);
  const claim = await backend.tryClaimJob(id);
  assert.equal([claim?.leaseId, claim?.runId], [lease, lease]);
  assert.is((await backend.getRun(lease ?? ""))?.worker, "owner");
  assert.is(await backend.tryClaimRunLease(id, "b", 60), null);
  await backend.extendLease(lease ?? "", 200);
  await refused(backend.extendLease(lease ?? "", 0), "invalid");
  await backend.finishRun(lease ?? "", "success");
  await backend.releaseLease(lease ?? "");
  await refused(backend.extendLease(lease ?? "", 60), "lease_rejected");
  assert.equal((await query("select from :SCHEMA.run_lease where job_id = $1", [id])).length, 0);
});

weaknesses("an operator's edit of the policies counts for jobs that run already", async () => {
  const taskName = fresh("edited");
  await backend.registerTask(taskName, { retryPolicy: { maxAttempts: 1 } });
  const { jobId, runId } = await claimed(backend, { taskName });
  await backend.upsertTaskConfig({ taskName, retryPolicy: { maxAttempts: 2, baseDelayMs: 0 } });
  await backend.finishRun(runId, "failed");
  const retried = await backend.getJob(jobId);
  assert.equal([retried?.status, retried?.attempt, retried?.maxAttempts], ["queued", 2, 2]);
  const claim = await backend.tryClaimJob(jobId);
  await backend.finishRun(claim?.runId ?? "", "timeout", 7, "too slow");
  const ended = await backend.getJob(jobId);
  assert.equal([ended?.status, ended?.attempt], ["failed", 2]);
  const run = await backend.getRun(claim?.runId ?? "");
  assert.equal([run?.status, run?.durationMs, run?.errorMessage], ["timeout", 7, "too slow"]);
  const revisions = await backend.listTaskConfigRevisions(taskName);
  assert.equal(
    revisions.map(({ revision, retryPolicy }) => [revision, retryPolicy.maxAttempts]),
    [
      [2, 2],
      [1, 1],
    ],
  );
  assert.is(await backend.registerTask(taskName, { priority: 9 }), false);
  const stored = await backend.getTaskConfig(taskName);
  assert.equal(stored, revisions[0]);
  assert.is(await backend.getTaskConfig(fresh("unknown")), null);
});

weaknesses("runs: ended once, counted since, in one snapshot", async () => {
  const taskName = fresh("runs");
  const start = (await query("select :SCHEMA.now_ms()::float8 as now"))[0]?.["now"] as number;
  const { runId } = await claimed(backend, { taskName });
  await backend.finishRun(runId, "success", 12, null);
  await backend.finishRun(runId, "success", 12);
  await refused(backend.finishRun(runId, "success", 13), "lease_rejected");
  await refused(backend.finishRun(runId, "failed", 12), "lease_rejected");
  await refused(backend.finishRun("nothing", "success"), "not_found");
  await refused(backend.finishRun(runId, "running"), "invalid");
  const manual = fresh("manual");
  await backend.upsertRun({
    runId: manual,
    jobId: "gone",
    taskName,
    status: "running",
    startedAtMs: start - 1,
  });
  await backend.upsertRun({
    runId: manual,
    jobId: "gone",
    taskName,
    status: "running",
    startedAtMs: start - 2,
    attempt: 3,
  });
  await backend.finishRun(manual, "canceled", 4);
  await backend.finishRun(manual, "canceled", 4);
  await refused(backend.finishRun(manual, "success", 4), "invalid");
  await refused(backend.upsertRun({ runId: manual, jobId: "gone", taskName, status: "running" }), "invalid");
  await refused(
    backend.upsertRun({ runId: manual, jobId: "other", taskName, status: "running" }),
    "id_conflict",
  );
  assert.equal(await backend.taskRunStats(taskName), { runsTotal: 2, successCount: 1 });
  const startedAtMs = (await backend.getRun(manual))?.startedAtMs;
  assert.is(startedAtMs, start - 2);
  const since = await backend.countRunsSince(start - 2);
  assert.is(since - (await backend.countRunsSince(start - 1)), 1);
  assert.is(await backend.countRunsSince(new Date(start + 1e12)), 0);
});

weaknesses("stored jobs: imported in any status, moved by legal moves only", async () => {
  for (const status of ["queued", "running", "success", "failed", "canceled"] as const) {
    const one = job({ jobId: fresh(status), attempt: 2, status });
    await backend.upsertJob(one);
    const stored = await backend.getJob(one.jobId ?? "");
    assert.equal([stored?.status, stored?.attempt], [status, status === "failed" ? 1 : 2], status);
    await backend.upsertJob(one);
    if (status === "running" || status === "queued") continue;
    for (const next of ["queued", "running"] as const) {
      await refused(backend.upsertJob({ ...one, status: next }), "illegal_transition");
    }
  }
  const { jobId } = await claimed(backend, {}, threeTimes);
  await refused(other.upsertJob(job({ jobId, status: "success" })), "lease_rejected");
  await backend.upsertJob(job({ jobId, status: "queued", attempt: 2 }));
  assert.equal([await statusOf(backend, jobId), (await backend.getJob(jobId))?.attempt], ["queued", 2]);
  await backend.upsertJob(job({ jobId, priority: -7 }));
  assert.is((await backend.getJob(jobId))?.priority, -7);
  const key = fresh("key");
  await enqueue(backend, { idempotencyKey: key });
  await refused(backend.upsertJob(job({ idempotencyKey: key })), "duplicate");
});

weaknesses("pause and the store's limits hold for claims of this face", async () => {
  const pool = fresh("paused");
  const id = await enqueue(backend, { pool });
  await query("select :SCHEMA.set_queue_paused($1, true)", [pool]);
  assert.is(await backend.tryClaimJob(id), null);
  assert.is(await backend.popClaimFromPool(pool), null);
  assert.equal(await backend.listQueuedForPoolSorted(pool), []);
  assert.not.ok((await backend.distinctPoolsQueued()).includes(pool));
  await query("select :SCHEMA.set_queue_paused($1, false)", [pool]);
  await query("select :SCHEMA.upsert_concurrency_limit($1, $1, 1)", [pool]);
  const second = await enqueue(backend, { pool });
  assert.ok(await backend.tryClaimJob(id));
  assert.is(await backend.tryClaimJob(second), null);
  assert.is(await backend.popClaimFromPool(pool), null);
  await query("select :SCHEMA.set_enqueue_limit($1, 2)", [pool]);
  const error = await refused(backend.enqueueWithPolicies(job({ pool })), "backpressure");
  assert.equal([error.fields.queue, error.fields.limit, error.fields.current], [pool, 2, 2]);
  await backend.revertJobToQueued(id);
  assert.ok(await backend.tryClaimJob(second));
});

weaknesses("a job imported as running has a place under the ceiling of its pool", async () => {
  const pool = fresh("imported");
  await query("select :SCHEMA.upsert_concurrency_limit($1, $1, 1)", [pool]);
  const running = job({ pool, status: "running" });
  await backend.upsertJob(running);
  const waiting = await enqueue(backend, { pool });
  assert.not(await backend.tryClaimJob(waiting));
  assert.equal(await query("select * from :SCHEMA.verify_invariants()"), []);
});

weaknesses.run();
