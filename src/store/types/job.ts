/** Anything that JSON can say. */
export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined };

/** A job to enqueue. Instants are milliseconds since 1970 by the clock of the database, durations milliseconds. */
export interface Job {
  /** 1..128 ASCII characters; picks the task that runs it. */
  readonly kind: string;
  /** Bytes as they are, or anything with a JSON form, whose text is stored exactly. @defaultValue {} */
  readonly payload?: unknown;
  /** @defaultValue "default" */
  readonly queue?: string;
  /** Jobs of one queue are shared out fairly between partitions: a tenant's id, say. */
  readonly partitionKey?: string;
  readonly rateClass?: string;
  /** Up to four; each of their budgets must allow the job. */
  readonly rateClasses?: readonly string[];
  /** What it takes from its rate classes. @defaultValue 1 */
  readonly weight?: number;
  /** Higher first, within the queue and partition. @defaultValue 0 */
  readonly priority?: number;
  /** @defaultValue 25 */
  readonly maxAttempts?: number;
  readonly scheduledAtMs?: number;
  readonly delayMs?: number;
  /** For one attempt. */
  readonly timeoutMs?: number;
  /** After it the job is not begun any more. */
  readonly deadlineMs?: number;
  /** How long it is kept when it has ended well. @defaultValue 0: it is deleted at once */
  readonly retentionMs?: number;
  /** At most one unfinished job (or one per window) has this key. */
  readonly uniqueKey?: string | Uint8Array;
  readonly uniqueWindowMs?: number;
  /** Whether the same key under another kind is another key. @defaultValue "kind" */
  readonly uniqueScope?: "kind" | "global";
  /** What a duplicate changes in the job that holds the key, while that waits. */
  readonly uniqueReplace?: readonly ("payload" | "scheduled_at" | "priority" | "max_attempts")[];
  readonly uniqueDebounceMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tags?: readonly string[];
  /** Waits until it is promoted. @defaultValue false */
  readonly pending?: boolean;
  /** Only this worker may run it. */
  readonly stickyWorker?: string;
  /** The caller's name for it; enqueueing it again is a replay. @defaultValue a generated one */
  readonly id?: string;
  /** Of the payload. @defaultValue 1 */
  readonly schemaVersion?: number;
  /** @defaultValue derived from kind and payload */
  readonly fingerprint?: string;
  readonly periodicScheduleId?: string;
  readonly periodicTickMs?: number;
}

/** What became of one job of a batch. */
export interface Enqueued {
  /** The job that does the work now: the new one, or the one that was there. */
  readonly id: string;
  /** replayed: the same job was there already. replaced: the holder of the unique key was changed as asked. */
  readonly disposition: "inserted" | "replayed" | "replaced";
  readonly existingId: string | null;
  readonly replaced: boolean;
}

export type JobState =
  | "pending"
  | "scheduled"
  | "available"
  | "running"
  | "retryable"
  | "completed"
  | "archived"
  | "cancelled"
  | "quarantined"
  | "undecodable";
