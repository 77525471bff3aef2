import { TextCaller } from "./caller.js";
import { maybe, parseBytes, parseTexts, type TextRow, type TextRows } from "./rows.js";
import type { AdmitAnswer, AdmitRequest, Claim } from "./types.js";

/** Of a claim, and of the one row behind the claims that has no id. */
type Column =
  | "id"
  | "kind"
  | "queue"
  | "partition_key"
  | "priority"
  | "attempt"
  | "crash_attempt"
  | "max_attempts"
  | "payload"
  | "schema_version"
  | "headers"
  | "lease_id"
  | "fence"
  | "expires_at_ms"
  | "checkpoint"
  | "cursor"
  | "weight"
  | "rate_classes"
  | "timeout_ms"
  | "deadline_ms"
  | "enqueued_at_ms"
  | "scheduled_at_ms"
  | "refused"
  | "next_due_ms"
  | "store_now_ms";

/** The gate. */
export abstract class AdmitRoom extends TextCaller {
  /**
   * Asks the gate what this worker may run now, and claims it: each job with a lease and a fence. The answer is the list
   * of claims, which also says how many candidates were refused and when the next waiting job falls due.
   *
   * When the answer is lost the jobs stay claimed until their lease expires.
   */
  async admit(request: AdmitRequest): Promise<AdmitAnswer> {
    const { at, rows } = await this.callForText<Column>(
      "admit_hinted",
      {
        worker: request.worker,
        queues: request.queues,
        capacity: request.capacity ?? 16,
        lease_ms: request.leaseMs ?? 30_000,
        quantum: request.quantum,
        lease_id: request.leaseId,
        job_id: request.jobId,
      },
      { hot: true },
    );
    const claims: Claim[] = [];
    let hint: TextRow = [];
    for (const row of rows) {
      const id = row[at.id];
      if (typeof id === "string") claims.push(readClaim(id, row, at));
      else hint = row;
    }
    return Object.assign(claims, {
      refused: maybe(hint[at.refused], parseCounts) ?? {},
      nextDueMs: maybe(hint[at.next_due_ms], Number),
      storeNowMs: maybe(hint[at.store_now_ms], Number) ?? Date.now(),
      asleep: typeof hint[at.expires_at_ms] === "string",
    });
  }
}

const parseObject = JSON.parse as (text: string) => Record<string, unknown>;
const parseHeaders = JSON.parse as (text: string) => Record<string, string>;
const parseCounts = JSON.parse as (text: string) => Record<string, number>;

/** A row of claims comes with each job, so what is in it is not asked of the types of its columns. */
function readClaim(id: string, row: TextRow, at: TextRows<Column>["at"]): Claim {
  return {
    id,
    jobId: id,
    leaseId: row[at.lease_id] as string,
    fence: BigInt(row[at.fence] as string),
    kind: row[at.kind] as string,
    queue: row[at.queue] as string,
    partitionKey: row[at.partition_key] as string,
    priority: Number(row[at.priority]),
    attempt: Number(row[at.attempt]),
    crashAttempt: Number(row[at.crash_attempt]),
    maxAttempts: Number(row[at.max_attempts]),
    payload: parseBytes(row[at.payload] as string),
    schemaVersion: Number(row[at.schema_version]),
    headers: maybe(row[at.headers], parseHeaders),
    expiresAtMs: Number(row[at.expires_at_ms]),
    checkpoint: maybe(row[at.checkpoint], parseObject),
    cursor: maybe(row[at.cursor], parseBytes),
    weight: Number(row[at.weight]),
    rateClasses: maybe(row[at.rate_classes], parseTexts),
    timeoutMs: maybe(row[at.timeout_ms], Number),
    deadlineMs: maybe(row[at.deadline_ms], Number),
    enqueuedAtMs: Number(row[at.enqueued_at_ms]),
    scheduledAtMs: Number(row[at.scheduled_at_ms]),
  };
}
