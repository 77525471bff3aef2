import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, PostgresQueueBackend } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";
import { claimed, enqueue, fresh, job, refused, sound } from "./support.js";

/** Every case runs in three schemas of one database at the same time, with the same ids. */
const database = await testDatabase({ installed: false });
const schemas = ["queue a", 'queue "b"', "queue_c"];
const backends = await Promise.all(
  schemas.map((schema) => PostgresQueueBackend.connectIsolated(database.url, schema, { maxSize: 4 })),
);
const contract = suite("backend contract");
const isolated = (
  name: string,
  work: (backend: PostgresQueueBackend, name: string) => Promise<void>,
): void => {
  contract(name, async () => {
    const unique = fresh("t");
    await Promise.all(backends.map((backend) => work(backend, unique)));
    await Promise.all(backends.map(sound));
  });
};

contract.before(async () => {
  for (const backend of backends) {
    const schema = `"${backend.schema.replaceAll('"', '""')}"`;
    await backend.pool.query(`select ${schema}.set_transition_guard(true)`);
  }
});
contract.after(async () => {
  await Promise.all(backends.map((backend) => backend.close()));
  await database.close();
});

isolated("enqueue inserts and lists", async (backend, name) => {
  const one = job({
    jobId: name,
    taskName: name,
    priority: 4,
    pool: name,
    idempotencyKey: name,
    paramsJson: '{"a" : 1}',
  });
  const before = Date.now();
  assert.equal(await backend.enqueueWithPolicies(one), [name, "inserted_new"]);
  const listed = await backend.listJobs("queued", 0, 10_000);
  const stored = listed.find(({ jobId }) => jobId === name);
  assert.ok(stored);
  assert.equal(stored, await backend.getJob(name));
  const { taskName, actorJson, paramsJson, priority, pool, status, idempotencyKey, signatureHash, attempt } =
    stored;
  assert.equal(
    { taskName, actorJson, paramsJson, priority, pool, status, idempotencyKey, signatureHash, attempt },
    {
      taskName: name,
      actorJson: one.actorJson,
      paramsJson: '{"a" : 1}',
      priority: 4,
      pool: name,
      status: "queued",
      idempotencyKey: name,
      signatureHash: null,
      attempt: 1,
    },
  );
  assert.ok(Math.abs(stored.createdAtMs - before) < 60_000);
  assert.is(stored.runId, null);
});

isolated("an idempotency key reuses the job that has not finished", async (backend, name) => {
  const first = await enqueue(backend, { idempotencyKey: name });
  assert.is(await backend.findNonterminalByIdempotencyKey(name), first);
  // Also under another task: the scope is global.
  const [again, disposition] = await backend.enqueueWithPolicies(
    job({ idempotencyKey: name, taskName: "other" }),
  );
  assert.equal([again, disposition], [first, "reused_idempotent"]);
  const claim = await backend.tryClaimJob(first);
  assert.is((await backend.enqueueWithPolicies(job({ idempotencyKey: name })))[0], first);
  await backend.finishRun(claim?.runId ?? "", "success");
  assert.is(await backend.findNonterminalByIdempotencyKey(name), null);
  const [next, fate] = await backend.enqueueWithPolicies(job({ idempotencyKey: name }));
  assert.is(fate, "inserted_new");
  assert.is.not(next, first);
});

isolated("a claim is atomic", async (backend) => {
  const id = await enqueue(backend);
  const claim = await backend.tryClaimJob(id);
  assert.is(claim?.status, "running");
  assert.ok(claim?.runId);
  assert.is(claim?.leaseId, claim?.runId);
  assert.is(claim?.fence, 1n);
  assert.is(await backend.tryClaimJob(id), null);
  assert.is(await backend.tryClaimJob("nobody"), null);
});

isolated("of two claims at the same time one wins and none fails", async (backend) => {
  const id = await enqueue(backend);
  const claims = await Promise.all([backend.tryClaimJob(id), backend.tryClaimJob(id)]);
  assert.is(claims.filter(Boolean).length, 1);
  assert.is(await backend.tryClaimJob(id), null);
});

isolated("a claim does not look at the params", async (backend) => {
  const paramsJson = '{"status":"queued","state":"available","job_id":"x\\u0000"}';
  const id = await enqueue(backend, { paramsJson });
  const claim = await backend.tryClaimJob(id);
  assert.is(claim?.status, "running");
  assert.is(claim?.paramsJson, paramsJson);
  assert.is(await backend.tryClaimJob(id), null);
});

isolated("a pool is in order of priority, lower first, then of age", async (backend, pool) => {
  const ids: string[] = [];
  for (const priority of [5, 1, 5, -2147483647, 2147483647])
    ids.push(await enqueue(backend, { pool, priority }));
  const [a, b, c, d, e] = ids;
  const order = [d, b, a, c, e];
  assert.equal(
    (await backend.listQueuedForPoolSorted(pool, 10)).map(({ jobId }) => jobId),
    order,
  );
  assert.equal(
    (await backend.listQueuedForPoolSorted(pool, 2)).map(({ priority }) => priority),
    [-2147483647, 1],
  );
  assert.equal(await backend.listQueuedForPoolSorted(pool, 0), []);
  assert.equal(await backend.listQueuedForPoolSorted(fresh("unknown"), 5), []);
  assert.ok((await backend.distinctPoolsQueued()).includes(pool));
  for (const id of order) assert.is((await backend.popClaimFromPool(pool))?.jobId, id);
  assert.is(await backend.popClaimFromPool(pool), null);
  assert.not.ok((await backend.distinctPoolsQueued()).includes(pool));
  const error = await refused(backend.enqueueWithPolicies(job({ priority: -2147483648 })), "invalid");
  assert.is(error.fields.field, "priority");
});

isolated(
  "max_in_flight counts the jobs of the task that the other face has enqueued",
  async (backend, taskName) => {
    const policy = { rateLimitPolicy: { maxInFlight: 4 } };
    await backend.registerTask(taskName, policy);
    const store = new PgStore(backend.pool, { schema: backend.schema });
    const plain = (more: object = {}): Promise<unknown> =>
      store.enqueue([{ kind: taskName, queue: taskName, ...more }]);
    await plain();
    await plain({ id: `${taskName}-named`, queue: "elsewhere" });
    await plain({ kind: `${taskName}-other` });
    await enqueue(backend, { taskName });
    await plain({ pending: true });
    const error = await refused(enqueue(backend, { taskName }), "rate_limited");
    assert.equal([error.fields.limit, error.fields["current"]], [4, 4]);
    assert.is(await backend.countActiveJobsForTask(taskName), 4);
    // The other face is counted, not refused.
    await plain();
    await store.operatorCancel(`${taskName}-named`);
    await refused(enqueue(backend, { taskName }), "rate_limited");
    const [claim] = await store.admit({ worker: "w", queues: [taskName], capacity: 1 });
    await store.ack(claim ?? (undefined as never), "success");
    await enqueue(backend, { taskName });
  },
);

isolated("max_in_flight is that of the argument", async (backend, taskName) => {
  const policy = { rateLimitPolicy: { maxInFlight: 1 } };
  const id = await enqueue(backend, { taskName }, policy);
  const error = await refused(backend.enqueueWithPolicies(job({ taskName }), policy), "rate_limited");
  const { task, scope, limit, current, retry_after_ms: retryAfter } = error.fields;
  assert.equal([task, scope, limit, current], [taskName, "in_flight", 1, 1]);
  assert.ok(Number(retryAfter) > 0);
  assert.ok(error.retryable);
  assert.is(error.sqlstate, "HR008");
  await backend.cancelJobIfActive(id);
  await enqueue(backend, { taskName }, policy);
  // The argument overrides what is stored.
  await backend.upsertTaskConfig({ taskName, ...policy });
  await refused(backend.enqueueWithPolicies(job({ taskName })), "rate_limited");
  await enqueue(backend, { taskName }, { rateLimitPolicy: { maxInFlight: 2 } });
});

isolated("max_enqueue_per_second is that of the argument", async (backend, taskName) => {
  const policy = { rateLimitPolicy: { maxEnqueuePerSecond: 1 } };
  await enqueue(backend, { taskName }, policy);
  const error = await refused(backend.enqueueWithPolicies(job({ taskName }), policy), "rate_limited");
  assert.equal([error.fields.task, error.fields["scope"], error.fields.limit], [taskName, "per_second", 1]);
  assert.ok(Number(error.fields["retry_after_ms"]) > 0 && Number(error.fields["retry_after_ms"]) <= 1001);
});

isolated("a run of a job that was never claimed", async (backend, name) => {
  await backend.upsertRun({ runId: name, jobId: `${name}-job`, taskName: name, status: "running" });
  assert.is((await backend.getRun(name))?.status, "running");
  await backend.finishRun(name, "success", 10);
  const run = await backend.getRun(name);
  assert.equal([run?.status, run?.durationMs, run?.jobId, run?.attempt], ["success", 10, `${name}-job`, 1]);
  assert.is(await backend.getRun(`${name}-unknown`), null);
});

isolated("an object that is handed around stays the same backend", async (backend) => {
  // What a router of named backends is for; a module that exports the object does it.
  const backendsByName = new Map([["default", backend]]);
  assert.is(backendsByName.get("default"), backend);
});

isolated("leases exclude each other", async (backend, id) => {
  const lease = await backend.tryClaimRunLease(id, "a", 120);
  assert.ok(lease);
  assert.is(await backend.tryClaimRunLease(id, "b", 120), null);
  assert.is(await backend.tryClaimRunLease(id, "a", 120), null);
  await backend.releaseLease(lease);
  assert.ok(await backend.tryClaimRunLease(id, "b", 120));
});

isolated("an extended lease is not expired", async (backend, id) => {
  const lease = await backend.tryClaimRunLease(id, "a", 60);
  assert.ok(lease);
  await backend.extendLease(lease, 300);
  assert.not.ok((await backend.expiredLeaseJobPairs()).some(([, jobId]) => jobId === id));
});

isolated("an expired lease is listed with its id", async (backend, id) => {
  const lease = await backend.tryClaimRunLease(id, "a", -1);
  assert.ok(lease);
  const pairs = await backend.expiredLeaseJobPairs();
  assert.equal(
    pairs.filter(([, jobId]) => jobId === id),
    [[lease, id]],
  );
  // Somebody else may have it now, and the first holder learns that.
  const next = await backend.tryClaimRunLease(id, "b", 60);
  assert.ok(next);
  await refused(backend.extendLease(lease, 60), "lease_rejected");
  await refused(backend.releaseLease(lease), "lease_rejected");
});

isolated("counts and lists", async (backend, taskName) => {
  const start = await backend.countJobs();
  const ids: string[] = [];
  for (let at = 0; at < 5; at++) ids.push(await enqueue(backend, { taskName, pool: taskName }));
  const { runId } = await claimed(backend, { taskName, pool: taskName });
  assert.is(await backend.countJobs(), start + 6);
  assert.is(await backend.countJobsForTask(taskName), 6);
  assert.is(await backend.countJobsForTask(taskName, "queued"), 5);
  assert.is(await backend.countJobsForTask(taskName, "running"), 1);
  assert.is(await backend.countActiveJobsForTask(taskName), 6);
  await backend.finishRun(runId, "success");
  assert.is(await backend.countActiveJobsForTask(taskName), 5);
  assert.is(await backend.countJobsForTask(taskName, "success"), 1);
  assert.is(await backend.countJobsForTask(fresh("unknown")), 0);
  assert.is(await backend.countJobs("queued"), (await backend.listJobs("queued", 0, 10_000)).length);
  const mine = (await backend.listJobs(null, 0, 10_000)).filter((one) => one.taskName === taskName);
  assert.equal(
    mine.slice(0, 5).map(({ jobId }) => jobId),
    ids,
  );
  assert.equal(await backend.listJobs(null, 0, 0), []);
  await refused(backend.listJobs(null, -1), "invalid");
  await refused(backend.listJobs(null, 0, 10_001), "invalid");
  await refused(backend.countJobs("done" as never), "invalid");
});

contract.run();
