import type { Claim } from "../../../src/index.js";
import { Attempt } from "../../../src/worker/attempt.js";
import { Availability } from "../../../src/worker/availability.js";
import { monotonicMs } from "../../../src/worker/timing.js";

/** A claim as the store would give it. */
export function claimOf(id: string, more: Partial<Claim> = {}): Claim {
  return {
    id,
    jobId: id,
    leaseId: "lease",
    fence: 1n,
    kind: "task",
    queue: "default",
    partitionKey: "",
    priority: 0,
    attempt: 0,
    crashAttempt: 0,
    maxAttempts: 25,
    payload: Buffer.from("{}"),
    schemaVersion: 1,
    headers: null,
    expiresAtMs: 30_000,
    checkpoint: null,
    cursor: null,
    weight: 1,
    rateClasses: null,
    timeoutMs: null,
    deadlineMs: null,
    enqueuedAtMs: 0,
    scheduledAtMs: 0,
    ...more,
  };
}

/** An attempt whose lease lasts for so long. */
export function attemptOf(id: string, leaseMs = 30_000, more: Partial<Claim> = {}): Attempt {
  const at = monotonicMs();
  return new Attempt(claimOf(id, more), { leaseEndsAt: at + leaseMs, at, storeNowMs: 0 });
}

export const quiet = (): Availability =>
  new Availability(
    () => undefined,
    () => undefined,
  );
