/** Where a job stands. queued: also those that wait for a time; failed: for good. */
export type JobStatus = "queued" | "running" | "success" | "failed" | "canceled";

/** How an attempt ended. */
export type RunStatus = "running" | "success" | "failed" | "canceled" | "timeout";

/** A job to enqueue or to store. */
export interface NewJob {
  /** @defaultValue a UUID */
  readonly jobId?: string;
  /** Picks the handler; 1..128 ASCII characters, as a kind of job. */
  readonly taskName: string;
  /** Who asks for it; opaque, at most 64 KiB. */
  readonly actorJson?: string | null;
  /** Arguments of the handler; opaque, at most 1 MiB. @defaultValue "null" */
  readonly paramsJson?: string | null;
  /** Lower first, -2147483647..2147483647. @defaultValue that of the task, else 1 */
  readonly priority?: number;
  /** The queue. @defaultValue that of the task, else "global" */
  readonly pool?: string;
  /** @defaultValue "queued" */
  readonly status?: JobStatus;
  /** At most one unfinished job has it; "" is none. */
  readonly idempotencyKey?: string | null;
  /** 64 bits, unsigned. */
  readonly signatureHash?: bigint | null;
  /** From 1. @defaultValue 1 */
  readonly attempt?: number;
  /** `upsertJob`: the run under which the caller holds the job. */
  readonly runId?: string | null;
  /** Do not start it before so many milliseconds. @defaultValue 0 */
  readonly delayMs?: number;
}

/** A stored job. Instants are milliseconds since 1970 by the clock of the database. */
export interface QueueJob {
  readonly jobId: string;
  readonly taskName: string;
  readonly actorJson: string | null;
  /** null: the payload is no text. */
  readonly paramsJson: string | null;
  readonly priority: number;
  readonly pool: string;
  readonly status: JobStatus;
  readonly idempotencyKey: string | null;
  readonly createdAtMs: number;
  readonly signatureHash: bigint | null;
  /** The number of the current, next or last execution, from 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** When it is due. */
  readonly scheduledAtMs: number;
  /** While it runs: the run that its claim opened, the token of whoever holds it. */
  readonly runId: string | null;
  readonly leaseId: string | null;
  readonly fence: bigint | null;
  readonly expiresAtMs: number | null;
}

/** An attempt to store. */
export interface NewRun {
  readonly runId: string;
  /** There need be no such job. */
  readonly jobId: string;
  readonly taskName: string;
  /** @defaultValue 1 */
  readonly attempt?: number;
  readonly status: RunStatus;
  /** @defaultValue now */
  readonly startedAtMs?: number;
  readonly finishedAtMs?: number | null;
  readonly durationMs?: number | null;
  readonly errorMessage?: string | null;
}

/** A stored attempt. */
export interface Run {
  readonly runId: string;
  readonly jobId: string;
  readonly taskName: string;
  readonly attempt: number;
  readonly status: RunStatus;
  readonly startedAtMs: number;
  readonly finishedAtMs: number | null;
  readonly durationMs: number | null;
  /** Secrets masked, at most 512 characters. */
  readonly errorMessage: string | null;
  readonly worker: string | null;
}

export interface RetryPolicy {
  /** Executions in all; 0 and 1: one. */
  readonly maxAttempts: number;
  /** The wait before the second execution. */
  readonly baseDelayMs: number;
  /** Growth of the wait, 1..100; 0: none. */
  readonly backoffMultiplier: number;
  /** The longest wait; 0: a day. */
  readonly maxDelayMs: number;
}

/** 0 switches a limit off. */
export interface RateLimitPolicy {
  /** Unfinished jobs of the task, in the whole fleet. */
  readonly maxInFlight: number;
  /** Enqueues in any second, in the whole fleet. */
  readonly maxEnqueuePerSecond: number;
}

/** lwt: a live job with the same key is reused; none: keys are ignored. */
export type IdempotencyMode = "lwt" | "none";

/** Policies of a task, as far as they are to differ from the defaults: one execution, no limits. */
export interface TaskPolicy {
  readonly priority?: number;
  readonly pool?: string;
  readonly retryPolicy?: Partial<RetryPolicy>;
  readonly rateLimitPolicy?: Partial<RateLimitPolicy>;
  /** @defaultValue "lwt" */
  readonly idempotencyMode?: IdempotencyMode | null;
  /** How long finished jobs stay; null: for ever, 0: not at all. @defaultValue null */
  readonly retentionMs?: number | null;
}

/** Stored policies of a task. */
export interface TaskConfig extends TaskPolicy {
  readonly taskName: string;
  readonly priority: number;
  readonly pool: string;
  readonly retryPolicy: RetryPolicy;
  readonly rateLimitPolicy: RateLimitPolicy;
  readonly idempotencyMode: IdempotencyMode | null;
  readonly retentionMs: number | null;
  readonly revision: number;
  readonly updatedAtMs: number;
}

export type EnqueueDisposition = "inserted_new" | "reused_idempotent";

export interface TaskRunStats {
  readonly runsTotal: number;
  readonly successCount: number;
}
