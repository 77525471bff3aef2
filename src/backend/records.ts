import { Json } from "../store/caller.js";
import { invalid } from "../store/errors.js";
import { checkText, visibleText } from "../store/text.js";
import type { NewJob, NewRun, QueueJob, TaskConfig, TaskPolicy } from "./types.js";

/** A job as SQL answers it. */
export type JobRow = Omit<QueueJob, "signatureHash"> & { readonly signatureHash: string | null };

/** Stored policies as SQL answers them. */
export interface ConfigRow {
  readonly taskName: string;
  readonly priority: number;
  readonly pool: string;
  readonly maxAttempts: number;
  readonly baseDelayMs: number;
  readonly backoffMultiplier: number;
  readonly maxDelayMs: number;
  readonly maxInFlight: number;
  readonly maxEnqueuePerSecond: number;
  readonly idempotencyMode: TaskConfig["idempotencyMode"];
  readonly retentionMs: number | null;
  readonly revision: number;
  readonly updatedAtMs: number;
}

export function toJob(row: JobRow): QueueJob {
  return { ...row, signatureHash: row.signatureHash === null ? null : BigInt(row.signatureHash) };
}

export function toConfig(row: ConfigRow): TaskConfig {
  const { taskName, priority, pool, idempotencyMode, retentionMs, revision, updatedAtMs } = row;
  const { maxAttempts, baseDelayMs, backoffMultiplier, maxDelayMs, maxInFlight, maxEnqueuePerSecond } = row;
  return {
    taskName,
    priority,
    pool,
    retryPolicy: { maxAttempts, baseDelayMs, backoffMultiplier, maxDelayMs },
    rateLimitPolicy: { maxInFlight, maxEnqueuePerSecond },
    idempotencyMode,
    retentionMs,
    revision,
    updatedAtMs,
  };
}

export function jobJson(job: NewJob, jobId: string | undefined): Json {
  const { signatureHash } = job;
  if (signatureHash != null && typeof signatureHash !== "bigint") {
    throw invalid("signatureHash", "is no bigint", "a bigint, 0..2^64-1");
  }
  return json({
    job_id: text("jobId", jobId),
    task_name: text("taskName", job.taskName),
    actor_json: text("actorJson", job.actorJson),
    params_json: text("paramsJson", job.paramsJson),
    priority: job.priority,
    pool: text("pool", job.pool),
    status: text("status", job.status),
    idempotency_key: text("idempotencyKey", job.idempotencyKey),
    signature_hash: signatureHash?.toString(),
    attempt: job.attempt,
    run_id: text("runId", job.runId),
    delay_ms: job.delayMs,
  });
}

export function runJson(run: NewRun): Json {
  return json({
    run_id: text("runId", run.runId),
    job_id: text("jobId", run.jobId),
    task_name: text("taskName", run.taskName),
    attempt: run.attempt,
    status: text("status", run.status),
    started_at_ms: run.startedAtMs,
    finished_at_ms: run.finishedAtMs,
    duration_ms: run.durationMs,
    error_message: run.errorMessage == null ? undefined : visibleText(run.errorMessage, 8192),
  });
}

export function policyJson(policy: TaskPolicy, taskName?: string): Json {
  const {
    priority,
    pool,
    retryPolicy: retry,
    rateLimitPolicy: limits,
    idempotencyMode,
    retentionMs,
  } = policy;
  return json({
    task_name: text("taskName", taskName),
    priority,
    pool: text("pool", pool),
    retry_policy: retry && {
      max_attempts: retry.maxAttempts,
      base_delay_ms: retry.baseDelayMs,
      backoff_multiplier: retry.backoffMultiplier,
      max_delay_ms: retry.maxDelayMs,
    },
    rate_limit_policy: limits && {
      max_in_flight: limits.maxInFlight,
      max_enqueue_per_second: limits.maxEnqueuePerSecond,
    },
    idempotency_mode: text("idempotencyMode", idempotencyMode),
    retention_ms: retentionMs,
  });
}

function text(field: string, value: string | null | undefined): string | undefined {
  if (value === null || value === undefined) return undefined;
  checkText(field, value);
  return value;
}

function json(fields: Readonly<Record<string, unknown>>): Json {
  return new Json(
    JSON.stringify(fields, (name, value: unknown) => {
      if (typeof value === "number" && !Number.isFinite(value))
        throw invalid(name, "is not a number", "a number");
      return value;
    }),
  );
}
