// timeout: 300 s
import { fork } from "node:child_process";
import { once } from "node:events";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  Worker,
  migrate,
  PgStore,
  PostgresQueueBackend,
  StoreError,
  TaskRuntime,
} from "../../../src/index.js";
import { testDatabase, type TestDatabase } from "../support/database.js";
import { enqueue, fresh, job, sound, statusOf, testBackend } from "./support.js";

/** Sixteen real connections each; an error of a loser is an error of the test. */
const races = suite("backend races");
const { database, backend } = await testBackend({ poolSize: 4 });
const { query } = database;
const rivals = await Promise.all(
  Array.from({ length: 16 }, () =>
    PostgresQueueBackend.connect(database.url, { schema: database.schema, maxSize: 1 }),
  ),
);
const silent = { debug() {}, info() {}, warn() {}, error() {} };

races.after(async () => {
  await Promise.all(rivals.map((rival) => rival.close()));
  await sound(backend);
  await database.close();
});

/** What each rival got, all at the same time. */
const all = <T>(work: (rival: PostgresQueueBackend, index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(rivals.map(work));

/** Whether the call was let through; false where a limit refused it. */
async function allowed(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (error instanceof StoreError && error.code === "rate_limited") return false;
    throw error;
  }
}

races("a named job is claimed once", async () => {
  for (let round = 0; round < 10; round++) {
    const id = await enqueue(backend, { pool: "named" });
    const claims = await all((rival) => rival.tryClaimJob(id));
    assert.is(claims.filter(Boolean).length, 1);
    assert.is(await backend.countRuns(id), 1);
  }
});

races("a pool is drained without a job lost, doubled or refused by an error", async () => {
  const pool = fresh("drain");
  const ids: string[] = [];
  for (let n = 0; n < 160; n++) ids.push(await enqueue(backend, { pool, priority: n % 3 }));
  const taken = await all(async (rival) => {
    const mine: string[] = [];
    for (let misses = 0; misses < 5;) {
      const claim = await rival.popClaimFromPool(pool);
      if (!claim) misses++;
      else {
        mine.push(claim.jobId);
        await rival.finishRun(claim.runId ?? "", "success");
      }
    }
    return mine;
  });
  assert.equal(taken.flat().sort(), ids.sort());
  assert.is((await query("select from :SCHEMA.attempt where queue = $1", [pool])).length, 160);
});

races("one of a hundred callers with the same key inserts", async () => {
  const idempotencyKey = fresh("key");
  const taskName = fresh("keyed");
  const policy = { rateLimitPolicy: { maxInFlight: 1, maxEnqueuePerSecond: 1 } };
  for (const limits of [undefined, policy]) {
    const key = `${idempotencyKey}${limits ? "-limited" : ""}`;
    const name = `${taskName}${limits ? "-limited" : ""}`;
    const answers = (
      await all((rival) =>
        Promise.all(
          Array.from({ length: 7 }, () =>
            rival.enqueueWithPolicies(job({ taskName: name, idempotencyKey: key }), limits),
          ),
        ),
      )
    ).flat();
    assert.is(answers.filter(([, disposition]) => disposition === "inserted_new").length, 1);
    assert.is(new Set(answers.map(([id]) => id)).size, 1);
    assert.is(await backend.countJobsForTask(name), 1);
  }
});

races("the same job enqueued by many is there once", async () => {
  const one = job({ taskName: fresh("same") });
  const answers = await all((rival) => rival.enqueueWithPolicies(one));
  assert.is(answers.filter(([, disposition]) => disposition === "inserted_new").length, 1);
});

races("max_in_flight is exact for the fleet", async () => {
  const taskName = fresh("inflight");
  const policy = { rateLimitPolicy: { maxInFlight: 5 } };
  const admitted = await all((rival) =>
    Promise.all(
      Array.from({ length: 4 }, () => allowed(rival.enqueueWithPolicies(job({ taskName }), policy))),
    ),
  );
  assert.is(admitted.flat().filter(Boolean).length, 5);
  assert.is(await backend.countActiveJobsForTask(taskName), 5);
});

races("max_enqueue_per_second is exact for any second", async () => {
  const taskName = fresh("persecond");
  const policy = { rateLimitPolicy: { maxEnqueuePerSecond: 10 } };
  const end = Date.now() + 2500;
  await all(async (rival) => {
    while (Date.now() < end) await allowed(rival.enqueueWithPolicies(job({ taskName }), policy));
  });
  const rows = await query(
    "select enqueued_at_ms::float8 as at from :SCHEMA.job where kind = $1 order by 1",
    [taskName],
  );
  const at = rows.map((row) => Number(row["at"]));
  assert.ok(at.length >= 20, `${at.length} were let through`);
  // The time that counts is that of the look at the limit, a moment before that of the job.
  for (let n = 10; n < at.length; n++) {
    assert.ok((at[n] ?? 0) - (at[n - 10] ?? 0) > 900, `${at[n]} - ${at[n - 10]}`);
  }
  const marks = await query(
    "select at_ms - lag(at_ms, 10) over (order by no) as apart from :SCHEMA.enqueue_window where task_name = $1",
    [taskName],
  );
  for (const { apart } of marks) assert.ok(apart === null || Number(apart) > 1000, String(apart));
});

races("an id is reserved by one", async () => {
  for (let round = 0; round < 10; round++) {
    const id = fresh("reserved");
    const leases = await all((rival, at) => rival.tryClaimRunLease(id, `w${at}`, 60));
    assert.is(leases.filter(Boolean).length, 1);
  }
  const id = fresh("expired");
  await backend.tryClaimRunLease(id, "gone", -1);
  assert.is((await all((rival, at) => rival.tryClaimRunLease(id, `w${at}`, 60))).filter(Boolean).length, 1);
});

races("claim, reserve, cancel, revert, finish and reclaim at once leave a sound store", async () => {
  const pool = fresh("storm");
  await all(async (rival, at) => {
    for (let n = 0; n < 12; n++) {
      const id = await enqueue(rival, { pool });
      await Promise.all(
        [
          rival.tryClaimRunLease(id, `w${at}`, 60),
          rival.tryClaimJob(id, { leaseMs: n % 3 === 0 ? 1 : 60_000 }),
          rival.popClaimFromPool(pool),
          n % 2 === 0 ? rival.cancelJobIfActive(id) : rival.revertJobToQueued(id),
          backend.store.reclaimExpired(),
        ].map((call: Promise<unknown>) =>
          call.catch((error: unknown) => {
            if (!(error instanceof StoreError) || error.code !== "lease_rejected") throw error;
          }),
        ),
      );
    }
  });
  await sound(backend);
});

races("two processes with workers drain a pool, each job once, also when one is killed", async () => {
  const pool = fresh("processes");
  const taskName = fresh("task");
  await backend.upsertTaskConfig({ taskName, pool, retryPolicy: { maxAttempts: 3 } });
  const ids: string[] = [];
  for (let n = 0; n < 60; n++) ids.push(await enqueue(backend, { taskName, pool }));
  const start = () =>
    fork(new URL("./worker-process.ts", import.meta.url), [], {
      execArgv: ["--import", "tsx"],
      env: {
        ...process.env,
        WORK: JSON.stringify({ url: database.url, schema: database.schema, pool, taskName }),
      },
    });
  const first = start();
  const second = start();
  const done = async (): Promise<number> => backend.countJobsForTask(taskName, "success");
  const until = async (n: number): Promise<void> => {
    for (const end = Date.now() + 60_000; Date.now() < end && (await done()) < n;) await pause(50);
    assert.ok((await done()) >= n, `${await done()} of ${n}`);
  };
  await until(10);
  first.kill("SIGKILL");
  await until(60);
  second.kill("SIGTERM");
  await once(second, "exit");
  for (const id of ids) {
    assert.is(await statusOf(backend, id), "success");
    const runs = await backend.listRuns(id);
    assert.is(runs.filter(({ status }) => status === "success").length, 1);
    for (const { status } of runs) assert.ok(status === "success" || status === "failed", status);
  }
});

races("jobs of both faces, drained by workers of both, each once, under limits of both", async () => {
  const pool = fresh("mixed");
  const taskName = fresh("mixed");
  const store = new PgStore(database.pool, { schema: database.schema });
  await store.call("upsert_concurrency_limit", { name: pool, queue: pool, max_concurrent: 3 });
  await store.call("set_history_policy", { queue: pool, keep: "all" });
  const policy = { pool, rateLimitPolicy: { maxInFlight: 20 }, retryPolicy: { maxAttempts: 2 } };
  await backend.registerTask(taskName, policy);
  const ids: string[] = [];
  let refusals = 0;
  const ran = new Map<string, number>();
  let now = 0;
  let most = 0;
  const handler = async (_: unknown, { id }: { id: string }): Promise<void> => {
    ran.set(id, (ran.get(id) ?? 0) + 1);
    most = Math.max(most, ++now);
    await pause(3);
    now--;
  };
  const core = new Worker(store, {
    tasks: { [taskName]: handler },
    queues: [pool],
    duties: false,
    logger: silent,
  });
  const face = new TaskRuntime(backend, {
    tasks: { [taskName]: handler },
    pools: [pool],
    duties: false,
    logger: silent,
  }).worker();
  for (let n = 0; n < 25; n++) {
    for (const { id } of await store.enqueue([{ kind: taskName, queue: pool, retentionMs: 600_000 }]))
      ids.push(id);
    const call = backend.enqueueWithPolicies(job({ taskName, pool }), policy);
    if (await allowed(call)) ids.push((await call)[0]);
    else refusals++;
  }
  // Both faces' jobs count, and this face's are refused where there are twenty.
  assert.is(refusals, 15);
  assert.is(ids.length, 35);
  const listed = await query("select id from :SCHEMA.list_jobs($1, max_rows => 200)", [
    JSON.stringify({ queue: pool }),
  ]);
  assert.equal(listed.map(({ id }) => String(id)).sort(), [...ids].sort());
  await core.start();
  await face.start();
  for (
    const end = Date.now() + 60_000;
    Date.now() < end && (await backend.countActiveJobsForTask(taskName)) > 0;
  ) {
    await pause(30);
  }
  await core.stop();
  await face.stop();
  assert.equal([...ran.keys()].sort(), ids.sort());
  assert.ok([...ran.values()].every((times) => times === 1));
  assert.ok(most <= 3, `${most} ran at once`);
  for (const id of ids) {
    assert.is(await statusOf(backend, id), "success");
    assert.equal(
      (await backend.listRuns(id)).map(({ status }) => status),
      ["success"],
    );
  }
});

races("twenty processes bootstrap at once, and an open writer holds none of them up", async () => {
  const empty: TestDatabase = await testDatabase({ installed: false });
  const connect = () => PostgresQueueBackend.connectIsolated(empty.url, "many", { maxSize: 1 });
  const many = await Promise.all(Array.from({ length: 20 }, connect));
  await enqueue(many[0] ?? backend);
  assert.is(await many[19]?.countJobs(), 1);
  const writer = await empty.connect();
  await writer.query("begin; lock table many.job, many.lease, many.attempt in row exclusive mode");
  const late = await connect();
  assert.is((await migrate({ pool: late.pool, schema: "many" })).applied.length, 0);
  await writer.query("rollback");
  // A newer schema is left as it is.
  await writer.query("insert into many.schema_migration (version, name) values (9999, 'later')");
  await connect().then(
    (one) => one.close(),
    () => undefined,
  );
  const { rows } = await writer.query("select max(version) as version from many.schema_migration");
  assert.is(rows[0].version, 9999);
  await writer.end();
  await Promise.all([...many, late].map((one) => one.close()));
  await empty.close();
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

races.run();
