import type { JobState } from "./job.js";

/** A job as it may be shown to anybody. */
export interface JobSummary {
  readonly id: string;
  readonly state: JobState;
  readonly kind: string;
  readonly queue: string;
  readonly partitionKey: string;
  readonly priority: number;
  readonly attempt: number;
  readonly crashAttempt: number;
  readonly maxAttempts: number;
  readonly weight: number;
  readonly schemaVersion: number;
  readonly rateClasses: readonly string[] | null;
  readonly tags: readonly string[] | null;
  readonly fingerprint: string;
  readonly enqueuedAtMs: number;
  readonly scheduledAtMs: number;
  readonly claimedAtMs: number | null;
  readonly finalizedAtMs: number | null;
  readonly evictAtMs: number | null;
  readonly timeoutMs: number | null;
  readonly deadlineMs: number | null;
  readonly retentionMs: number | null;
  readonly fence: bigint;
  readonly leaseId: string | null;
  readonly leaseExpiresAtMs: number | null;
  /** The worker that runs it. */
  readonly claimedBy: string | null;
  readonly stickyWorker: string | null;
  readonly periodicScheduleId: string | null;
  readonly periodicTickMs: number | null;
  /** A lease of it was lost at least once. */
  readonly orphaned: boolean;
  readonly payloadBytes: number;
  /** Only where it was asked for. */
  readonly payload: Buffer | null;
  readonly headers: Readonly<Record<string, string>> | null;
  /** Where a list goes on behind this job. */
  readonly cursor: string;
}

/** All fields that are given must match. */
export interface JobFilter {
  readonly queue?: string | undefined;
  readonly state?: JobState | undefined;
  readonly kind?: string | undefined;
  readonly kindPrefix?: string | undefined;
  readonly partitionKey?: string | undefined;
  readonly id?: string | undefined;
  readonly fingerprint?: string | undefined;
  readonly rateClass?: string | undefined;
  readonly priority?: number | undefined;
  readonly tagsAll?: readonly string[] | undefined;
  readonly tagsAny?: readonly string[] | undefined;
}

export interface JobPage {
  readonly jobs: readonly JobSummary[];
  /** For the next page, also where this one is short; null on the last. */
  readonly nextCursor: string | null;
}

export interface StateCounts {
  readonly byState: Readonly<Record<JobState, number>>;
  /** More jobs than were looked at: the numbers are those of a part. */
  readonly approximate: boolean;
}

/** One run of a job, as far as the queue keeps its history. */
export interface Attempt {
  readonly no: number;
  readonly attempt: number;
  readonly fence: bigint;
  readonly worker: string | null;
  readonly startedAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly outcome: string | null;
  readonly error: string | null;
  readonly logs: readonly unknown[] | null;
}

/** Why a job is not running. */
export interface AdmissionExplanation {
  readonly state: JobState;
  /** Nothing but its place in line stands before it. */
  readonly admissible: boolean;
  readonly reason: string | null;
  readonly detail: Readonly<Record<string, unknown>> | null;
  /** 1 is the head; counted up to 1000. */
  readonly positionInLine: number | null;
  /** When the reason will have passed, if that can be told. */
  readonly etaMs: number | null;
}

export interface BrokenInvariant {
  readonly invariant: string;
  readonly subject: string;
  readonly detail: string;
}
