import { optionalMilliseconds, type Duration } from "../duration.js";
import type { EnqueueRequest } from "./events.js";
import { didYouMean } from "../nearest.js";
import { invalid } from "../store/errors.js";
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

/** Every option of a job, as the type above has them. */
const names = Object.keys({
  queue: 0,
  partitionKey: 0,
  priority: 0,
  scheduledAt: 0,
  delay: 0,
  deadline: 0,
  timeout: 0,
  maxAttempts: 0,
  rateClass: 0,
  rateClasses: 0,
  weight: 0,
  retention: 0,
  id: 0,
  uniqueKey: 0,
  uniqueWindow: 0,
  uniqueScope: 0,
  uniqueReplace: 0,
  uniqueDebounce: 0,
  headers: 0,
  tags: 0,
  pending: 0,
  stickyWorker: 0,
} satisfies Record<keyof EnqueueOptions, 0>);
const known: ReadonlySet<string> = new Set(names);

/** What a caller without types may get wrong. */
function checkNames(options: object): void {
  for (const name of Object.keys(options)) {
    if (known.has(name)) continue;
    throw invalid(name, `is not an option of a job${didYouMean(name, names)}`, names.join(", "));
  }
}

/** An entry of a batch has its options under `options`. @throws StoreError `invalid` for what it can't have. */
export function checkEntry({
  kind: _kind,
  payload: _payload,
  options: _options,
  ...rest
}: EnqueueRequest): void {
  const [name] = Object.keys(rest);
  if (name === undefined) return;
  const under = known.has(name) ? `; write options: { ${name}: … }` : "";
  throw invalid(name, `is not a field of a job in a batch${under}`, "kind, payload, options");
}

/** Options as the store takes them. @throws RangeError for a duration, StoreError `invalid` for a name that is none. */
export function jobOptions(options: EnqueueOptions): Omit<Job, "kind" | "payload"> {
  checkNames(options);
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
