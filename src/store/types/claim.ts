/** Who holds a job: every write by a holder names all three. */
export interface LeaseRef {
  readonly jobId: string;
  readonly leaseId: string;
  readonly fence: bigint;
}

/** A job that this worker may run now; also the reference to its lease. */
export interface Claim extends LeaseRef {
  /** The same as `jobId`. */
  readonly id: string;
  readonly kind: string;
  readonly queue: string;
  readonly partitionKey: string;
  readonly priority: number;
  /** Attempts that failed before this one. */
  readonly attempt: number;
  /** Attempts before this one that ended with a lost lease. */
  readonly crashAttempt: number;
  readonly maxAttempts: number;
  readonly payload: Buffer;
  readonly schemaVersion: number;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly expiresAtMs: number;
  readonly checkpoint: Readonly<Record<string, unknown>> | null;
  readonly cursor: Buffer | null;
  readonly weight: number;
  readonly rateClasses: readonly string[] | null;
  readonly timeoutMs: number | null;
  readonly deadlineMs: number | null;
  readonly enqueuedAtMs: number;
  readonly scheduledAtMs: number;
}

export interface AdmitRequest {
  /** Names the worker; sticky jobs are for it. */
  readonly worker: string;
  readonly queues: readonly string[];
  /** How many jobs at most. @defaultValue 16 */
  readonly capacity?: number;
  /** @defaultValue 30000 */
  readonly leaseMs?: number;
  /** How many one partition gets at most. @defaultValue an even share, and what others leave */
  readonly quantum?: number;
  /** @defaultValue a random one */
  readonly leaseId?: string;
  /**
   * Only this job, without waiting for its turn: by the same policies, and only if it waits in one of these queues.
   * @defaultValue whichever jobs are next
   */
  readonly jobId?: string;
}

/** The claims, in the order in which to run them, and what the gate has to say beside them. */
export interface AdmitAnswer extends Array<Claim> {
  /** How many candidates were held back, by reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** When the next waiting job of these queues falls due; null where none waits for a time. */
  readonly nextDueMs: number | null;
  /** The store's clock when it answered. */
  readonly storeNowMs: number;
  /** Whether a declaration of sleep of this worker still stands. @defaultValue false */
  readonly asleep?: boolean;
}
