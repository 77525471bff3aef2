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
}

/** The claims, in the order in which to run them, and what the gate has to say beside them. */
export interface AdmitAnswer extends Array<Claim> {
  /** How many candidates were held back, by reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** When the next waiting job of these queues falls due; null where none waits for a time. */
  readonly nextDueMs: number | null;
  /** The store's clock when it answered. */
  readonly storeNowMs: number;
}

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

/** A result or an output: bytes, and which form they have. */
export interface JobResult {
  /** @defaultValue 1 */
  readonly schemaVersion?: number;
  readonly bytes: Uint8Array;
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

/** What a worker says of itself. */
export interface WorkerMeta {
  readonly workerId: string;
  /** Differs from start to start: commands are for one of them. */
  readonly incarnation?: string;
  readonly host?: string;
  readonly pid?: number;
  readonly queues?: readonly string[];
  readonly concurrency?: number;
  readonly inflight?: number;
  readonly polls?: number;
  readonly emptyPolls?: number;
  readonly status?: string;
  readonly dutiesActive?: boolean;
}

export type WorkerCommand = "quiet" | "resume" | "restart" | "terminate" | "resign";

/** A worker as the others see it. */
export interface WorkerInfo extends Required<WorkerMeta> {
  readonly startedAtMs: number;
  readonly heartbeatAtMs: number;
  /** Waits to be taken with the next heartbeat. */
  readonly command: WorkerCommand | null;
  readonly lastCommand: WorkerCommand | null;
  readonly lastCommandAtMs: number | null;
}

export interface Reclaimed {
  readonly id: string;
  readonly crashAttempt: number;
  /** It has crashed once too often. */
  readonly quarantined: boolean;
}

export interface DutyRun {
  readonly duty: string;
  /** How many rows it handled. */
  readonly did: number;
  /** Why it failed; the others ran all the same, and it is tried again later. */
  readonly error: string | null;
}

export interface DutyOptions {
  /** @defaultValue all */
  readonly duties?: readonly string[];
  /** Of each duty. @defaultValue 1000 */
  readonly maxRows?: number;
  /** @defaultValue 10000 */
  readonly leaseMs?: number;
}

export interface BrokenInvariant {
  readonly invariant: string;
  readonly subject: string;
  readonly detail: string;
}

/**
 * What becomes of ticks that are noticed `graceMs` late or later: skip drops them, run_once fires the newest one, backfill
 * the newest `backfillLimit`, oldest first.
 */
export type OnMissed = "skip" | "run_once" | "backfill";

/** The job of a schedule: the same for each tick. */
export type ScheduleTemplate = Pick<
  Job,
  | "kind"
  | "payload"
  | "schemaVersion"
  | "queue"
  | "partitionKey"
  | "rateClass"
  | "rateClasses"
  | "priority"
  | "weight"
  | "maxAttempts"
  | "timeoutMs"
  | "retentionMs"
  | "headers"
  | "tags"
  | "stickyWorker"
>;

/** Periodic work: when, and the job to enqueue then. */
export interface Schedule extends ScheduleTemplate {
  /** The caller's name for it, at most 255 bytes. */
  readonly id: string;
  /** Cron with 5 or 6 fields, behind `CRON_TZ=Zone ` where it is not UTC; `@daily` and the like; `@every:<ms>`. */
  readonly spec: string;
  /** @defaultValue "skip" */
  readonly onMissed?: OnMissed;
  /** For backfill, 1..1000. @defaultValue 1 */
  readonly backfillLimit?: number;
  /** @defaultValue 60000 */
  readonly graceMs?: number;
  /** @defaultValue what it was, and for a new schedule false */
  readonly paused?: boolean;
}

/** A schedule as the store has it. Instants are milliseconds since 1970 by the store's clock. */
export interface ScheduleSummary {
  readonly id: string;
  readonly spec: string;
  readonly onMissed: OnMissed;
  readonly backfillLimit: number;
  readonly graceMs: number;
  readonly paused: boolean;
  /** The next tick about which nothing has been decided. */
  readonly nextRunMs: number;
  readonly lastEnqueuedMs: number | null;
  /** Ticks that came to no job; the events say why. */
  readonly missedTicks: number;
  /** Tries of the present tick that failed. */
  readonly failures: number;
  /** When a tick that failed is tried again; 0 where none waits for that. */
  readonly retryAtMs: number;
  readonly lastError: string | null;
  readonly kind: string;
  /** Only where it was asked for. */
  readonly payload: Buffer | null;
  readonly schemaVersion: number;
  readonly queue: string;
  readonly partitionKey: string;
  readonly rateClasses: readonly string[] | null;
  readonly priority: number;
  readonly weight: number;
  readonly maxAttempts: number;
  readonly timeoutMs: number | null;
  readonly retentionMs: number | null;
  /** Only where they were asked for. */
  readonly headers: Readonly<Record<string, string>> | null;
  readonly tags: readonly string[] | null;
  readonly stickyWorker: string;
  /** The store's clock when it was read. */
  readonly storeNowMs: number;
}

export interface DueSchedules {
  /** With payloads and headers. */
  readonly schedules: readonly ScheduleSummary[];
  /** The store's clock, or 0 where nothing is due: no tick is to be reckoned with another clock. */
  readonly nowMs: number;
}

export type ScheduleOutcome = "enqueued" | "deduplicated" | "failed" | "skipped";

/** What to note of a tick that a scheduler of one's own has handled. */
export interface ScheduleEventInput {
  readonly scheduleId: string;
  readonly tickMs: number;
  readonly outcome: ScheduleOutcome;
  readonly jobId?: string | null;
  /** At most 64 bytes. */
  readonly reason?: string;
}

export interface ScheduleEvent {
  /** For the next page of a list. */
  readonly eventId: number;
  readonly scheduleId: string;
  readonly tickMs: number;
  /** How many ticks, or tries of one tick, it stands for; `tickMs` is the first. */
  readonly ticks: number;
  readonly jobId: string | null;
  readonly outcome: ScheduleOutcome;
  readonly reason: string;
  readonly detail: string | null;
  readonly recordedAtMs: number;
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

/** What a role may be given; see docs/operations.md. */
export type AccessDuty = "producer" | "worker" | "scheduler" | "operator" | "reader" | "reader_payload";

export type HistoryPolicy = "failures" | "all" | "none";

export type OperationAction = "retry" | "cancel" | "promote" | "delete";

/** Something that is done to many jobs. */
export interface Operation {
  readonly id: string;
  readonly action: OperationAction | "delete_queue";
  /** As SQL has it: names in snake_case. */
  readonly selector: Readonly<Record<string, unknown>>;
  readonly status: "pending" | "running" | "completed" | "failed";
  readonly dryRun: boolean;
  /** How many jobs matched when it was created. */
  readonly estimated: number;
  /** There were more, or too many to look at. */
  readonly estimateCapped: boolean;
  readonly affected: number;
  /** Matched but could not be moved. */
  readonly skipped: number;
  /** Why, and how many each: `duplicate` where another job has the unique key. */
  readonly skippedFor: Readonly<Record<string, number>>;
  readonly error: string | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly finishedAtMs: number | null;
}

export interface QueueStats {
  readonly queue: string;
  /** Unfinished jobs, exactly. */
  readonly depth: number;
  readonly maxUnfinishedJobs: number | null;
  readonly paused: boolean;
  readonly weight: number;
  /** Counted up to a cap. */
  readonly byState: Readonly<Partial<Record<JobState, number>>>;
  /** A cap was reached. */
  readonly approximate: boolean;
  /** Jobs per second over the last one to two minutes. */
  readonly arrivalPerS: number;
  readonly drainPerS: number;
  /** Null while it does not shrink. */
  readonly timeToDrainMs: number | null;
  /** How long the job that could run has waited longest; null where none could. */
  readonly oldestAvailableMs: number | null;
  /** Partitions with at most 10 jobs in line; null where there are too many partitions to tell. */
  readonly quietPartitions: number | null;
  /** The same wait, of those only. */
  readonly quietOldestMs: number | null;
  /** An estimate from the last sample. */
  readonly memoryBytes: number | null;
  readonly sampledJobs: number | null;
  readonly sampledAtMs: number | null;
}

export interface HistoryBucket {
  readonly bucketStartMs: number;
  readonly arrived: number;
  readonly completed: number;
  /** Attempts. */
  readonly failed: number;
  /** Jobs that left the unfinished ones, less those that came back. */
  readonly drained: number;
  /** What the gate held back, by reason. */
  readonly refused: Readonly<Record<string, number>>;
}

export interface Metric {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface IndexHealth {
  readonly name: string;
  readonly tableName: string;
  readonly bytes: number;
  readonly scans: number;
  readonly liveRows: number;
  readonly deadRows: number;
  readonly valid: boolean;
  /** What a cancelled rebuild left behind. */
  readonly leftover: boolean;
}

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

export interface RateClass {
  readonly name: string;
  /** Tokens each window; a job takes its weight. 0 lets nothing through. */
  readonly limitPerWindow: number;
  /** @defaultValue 1000 */
  readonly windowMs?: number;
  /** Tokens that can be saved up. @defaultValue the limit */
  readonly burst?: number;
  /** @defaultValue false */
  readonly paused?: boolean;
}

export interface RateClassState extends Required<RateClass> {
  readonly tokens: number;
  /** Set by `deferRateClass`: nothing passes before it. */
  readonly deferredUntilMs: number | null;
  readonly nextTokenMs: number | null;
  /** Jobs in its lines, counted up to 1000. */
  readonly waiting: number;
}

export interface ConcurrencyLimit {
  readonly name: string;
  readonly queue: string;
  /** For each partition. */
  readonly maxConcurrent: number;
  /** What happens to the next job. @defaultValue "queue": it waits */
  readonly onSaturated?: "queue" | "discard" | "cancel_incoming" | "cancel_running";
}

export interface ConcurrencyLimitState extends Required<ConcurrencyLimit> {
  readonly running: number;
}

export interface PartitionState {
  readonly partitionKey: string;
  /** Counted up to 1000. */
  readonly waiting: number;
  /** Where the queue has a ceiling. */
  readonly running: number | null;
  /** What a turn that was cut short is still owed. */
  readonly deficit: number;
  readonly servedAtMs: number | null;
  /** Why the first in line does not run; null where nothing but its turn stands before it. */
  readonly heldBack: string | null;
}

export interface QuarantineEntry {
  readonly fingerprint: string;
  readonly kind: string;
  /** Workers that it took down. */
  readonly crashCount: number;
  readonly quarantinedAtMs: number;
  /** Parked, counted up to 1000. */
  readonly jobs: number;
  readonly reason: string | null;
  readonly samplePayload: Buffer | null;
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
