import type { JobState } from "./job.js";

export interface ArchiveFilter {
  readonly queue?: string | undefined;
  /** YYYY-MM, in UTC. */
  readonly month?: string | undefined;
}

/** A job in the archive. */
export interface ArchivedJob {
  readonly id: string;
  readonly kind: string;
  readonly queue: string;
  readonly partitionKey: string;
  readonly state: JobState;
  readonly fingerprint: string;
  readonly attempt: number;
  readonly crashAttempt: number;
  readonly enqueuedAtMs: number;
  readonly finalizedAtMs: number;
  readonly evictedAtMs: number;
  /** Until then it is kept. */
  readonly expiresAtMs: number;
  readonly tags: readonly string[] | null;
  /** Its history, keys in snake_case. */
  readonly attempts: readonly Readonly<Record<string, unknown>>[] | null;
  readonly payloadBytes: number;
}

export interface ArchivePage {
  readonly jobs: readonly ArchivedJob[];
  readonly nextCursor: string | null;
}
