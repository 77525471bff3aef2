import type { Job } from "./job.js";

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
