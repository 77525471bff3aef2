import type { LeaseRef } from "./claim.js";
import type { JobState } from "./job.js";

export type AckOutcome =
  "success" | "retry" | "skip" | "revoke" | "snooze" | "rate_limited" | "undecodable" | "checkpoint_stale";

/** What goes with the end of an attempt. */
export interface AckDetail {
  /** Any text: what PostgreSQL can't hold is replaced, what is too long is cut. */
  readonly error?: string | undefined;
  /** Needed for snooze. For retry: instead of the usual backoff, 0 means at once. */
  readonly delayMs?: number | undefined;
  /** At most the last 100 entries, 2 KiB each, are kept; texts, or anything with a JSON form. */
  readonly logs?: readonly unknown[] | undefined;
  /** What it really took from its rate classes; the difference is given back or charged. */
  readonly actualWeight?: number | undefined;
}

/** The end of one attempt, in a batch. */
export interface Ack extends LeaseRef, AckDetail {
  readonly outcome: AckOutcome;
  /** With success only; kept as long as the job is. */
  readonly result?: Uint8Array | undefined;
  /** @defaultValue 1 */
  readonly resultSchemaVersion?: number | undefined;
}

export interface AckResult {
  readonly jobId: string;
  /** The lease no longer held the job, which therefore has not been touched. */
  readonly rejected: boolean;
  /** The state reached; `deleted` where the job is gone; null where rejected. */
  readonly state: JobState | "deleted" | null;
}

/** A result or an output: bytes, and which form they have. */
export interface JobResult {
  /** @defaultValue 1 */
  readonly schemaVersion?: number;
  readonly bytes: Uint8Array;
}

/** What goes with a success in the caller's transaction. */
export interface CompleteDetail extends Pick<AckDetail, "logs" | "actualWeight"> {
  /** Kept as long as the job is. */
  readonly result?: JobResult | undefined;
}

/** An output as it is stored. */
export interface JobOutput {
  readonly schemaVersion: number;
  readonly bytes: Uint8Array;
  /** Of the attempt that wrote it. */
  readonly fence: bigint;
  readonly atMs: number;
}

/** Progress as it is stored. */
export interface JobProgress {
  readonly current: number;
  readonly total: number;
  readonly message: string | null;
  /** Of the attempt that reported it. */
  readonly fence: bigint;
  readonly atMs: number;
}

/** How far a job has come; the object keys are those that `checkpoint` in SQL names. */
export interface Checkpoint {
  readonly completed?: readonly string[];
  readonly inProgress?: string | null;
  /** Opaque; goes beside the object. */
  readonly cursor?: Uint8Array | null;
  readonly [key: string]: unknown;
}

/** A checkpoint as SQL keeps it. */
export interface StoredCheckpoint {
  readonly checkpoint: Readonly<Record<string, unknown>> & {
    readonly completed?: readonly string[];
    readonly in_progress?: string | null;
    readonly crashes?: Readonly<Record<string, number>>;
  };
  readonly cursor: Buffer | null;
}
