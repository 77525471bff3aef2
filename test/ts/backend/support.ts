import { randomUUID } from "node:crypto";
import { escapeIdentifier } from "pg";
import * as assert from "uvu/assert";
import { PostgresQueueBackend, StoreError, type StoreErrorCode } from "../../../src/index.js";
import type { NewJob, TaskPolicy } from "../../../src/index.js";
import { testDatabase, type TestDatabase } from "../support/database.js";

/** A backend on a migrated database of its own. */
export async function testBackend(
  options: Parameters<typeof testDatabase>[0] = {},
): Promise<{ database: TestDatabase; backend: PostgresQueueBackend }> {
  const database = await testDatabase(options);
  const backend = await PostgresQueueBackend.fromPool(database.pool, { schema: database.schema });
  return { database, backend };
}

let made = 0;

/** A name that no other test of the process uses. */
export const fresh = (word: string): string => `${word}_${process.pid}_${++made}`;

export const job = (fields: Partial<NewJob> = {}): NewJob => ({
  jobId: randomUUID(),
  taskName: "noop",
  actorJson: '{"User":{"id":7}}',
  paramsJson: "{}",
  ...fields,
});

/** Three executions without a wait. */
export const threeTimes: TaskPolicy = { retryPolicy: { maxAttempts: 3 } };

export async function enqueue(
  backend: PostgresQueueBackend,
  fields: Partial<NewJob> = {},
  policy?: TaskPolicy,
): Promise<string> {
  const [id] = await backend.enqueueWithPolicies(job(fields), policy);
  return id;
}

/** Enqueues a job and claims it. */
export async function claimed(
  backend: PostgresQueueBackend,
  fields: Partial<NewJob> = {},
  policy?: TaskPolicy,
  leaseMs = 60_000,
): Promise<{ jobId: string; runId: string }> {
  const id = await enqueue(backend, fields, policy);
  const claim = await backend.tryClaimJob(id, { leaseMs });
  assert.ok(claim?.runId, `${id} could not be claimed`);
  return { jobId: id, runId: claim.runId };
}

/** Waits for a call that must fail, and answers with its error. */
export async function refused(call: Promise<unknown>, code: StoreErrorCode): Promise<StoreError> {
  let answer: unknown;
  try {
    answer = await call;
  } catch (error) {
    assert.instance(error, StoreError, String(error));
    assert.is((error as StoreError).code, code, (error as StoreError).message);
    return error as StoreError;
  }
  throw new Error(`expected ${code}, but the answer was ${JSON.stringify(answer)}`);
}

export async function statusOf(backend: PostgresQueueBackend, id: string): Promise<string | undefined> {
  return (await backend.getJob(id))?.status;
}

/** What `verify_invariants()` objects to in the backend's schema. */
export async function sound(backend: PostgresQueueBackend): Promise<void> {
  const { rows } = await backend.pool.query(
    `select * from ${escapeIdentifier(backend.schema)}.verify_invariants()`,
  );
  assert.equal(rows, []);
}
