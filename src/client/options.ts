import { optionalMilliseconds, type Duration } from "../duration.js";
import type { Job, Tx } from "../store/index.js";

/** How a job is to run. Durations are milliseconds or texts such as `"5m"`, instants a Date or milliseconds. */
export interface EnqueueOptions extends Pick<
  Job,
  | "queue"
  | "partitionKey"
  | "rateClass"
  | "rateClasses"
  | "weight"
  | "priority"
  | "maxAttempts"
  | "uniqueKey"
  | "uniqueScope"
  | "uniqueReplace"
  | "headers"
  | "tags"
  | "pending"
  | "stickyWorker"
  | "id"
> {
  /** Not before then; past instants are allowed. */
  readonly scheduledAt?: Date | number;
  readonly delay?: Duration;
  /** For one attempt. */
  readonly timeout?: Duration;
  /** After it the job is not begun any more. */
  readonly deadline?: Date | number;
  /** How long the job, and its result, are kept when it has ended well. @defaultValue 0: deleted at once */
  readonly retention?: Duration;
  /** With uniqueKey: the key is taken for so long, whatever becomes of the job. */
  readonly uniqueWindow?: Duration;
  /** With uniqueKey: a duplicate puts the waiting job off by so much, with the new payload. */
  readonly uniqueDebounce?: Duration;
}

export interface CallOptions {
  /** The caller's transaction: any client of node-postgres, also one that an ORM uses. */
  readonly tx?: Tx;
  /** Given up before the call is made; a call under way is not interrupted, because it may have succeeded. */
  readonly signal?: AbortSignal;
}

const instant = (value: Date | number | undefined): number | undefined =>
  value instanceof Date ? value.getTime() : value;

/** Options as the store takes them. @throws RangeError for a duration that is none. */
export function jobOptions(options: EnqueueOptions): Omit<Job, "kind" | "payload"> {
  const { scheduledAt, delay, timeout, deadline, retention, uniqueWindow, uniqueDebounce, ...same } = options;
  const job: Record<string, unknown> = { ...same };
  const translated = {
    scheduledAtMs: instant(scheduledAt),
    delayMs: optionalMilliseconds(delay, "delay"),
    timeoutMs: optionalMilliseconds(timeout, "timeout"),
    deadlineMs: instant(deadline),
    retentionMs: optionalMilliseconds(retention, "retention"),
    uniqueWindowMs: optionalMilliseconds(uniqueWindow, "uniqueWindow"),
    uniqueDebounceMs: optionalMilliseconds(uniqueDebounce, "uniqueDebounce"),
  };
  for (const [name, value] of Object.entries(translated)) if (value !== undefined) job[name] = value;
  return job;
}
