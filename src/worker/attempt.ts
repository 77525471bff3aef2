import { Abort } from "./abort.js";
import type { JobRef } from "./events.js";
import { storable } from "./describe-error.js";
import type { Received } from "./loop.js";
import type { Ending, Outcome } from "./outcome.js";
import type { Claim, JobState } from "../store/index.js";
import { monotonicMs } from "./timing.js";

const maxLogs = 100;
const maxLogLength = 2048;
const none: readonly string[] = [];

/** A claimed job, from its claim until its end is durable or its lease is lost. */
export class Attempt {
  readonly claim: Claim;
  /** When the handler was called, or the job claimed, by the monotonic clock. */
  startedAt = monotonicMs();
  /** From when the job could have run until it was claimed, by the store's clock. */
  readonly #waitedMs: number;
  readonly #receivedAt: number;
  /** Tells the handler to stop; the reason says why. */
  readonly abort = new Abort();
  /** When the lease ends at the latest, by the monotonic clock; rises with each renewal. */
  leaseEndsAt: number;
  /** When the job's deadline passes on the store's clock, by the monotonic clock; Infinity: never. */
  readonly deadlineAt: number;
  /** The answer to an ack is on its way; it decides, and no renewal does. */
  acking = false;
  /** Nothing that the handler does counts any more: settled, lost, or handed back. */
  over = false;
  /** The state in which the handler itself has committed the job's completion; undefined while it has not. */
  completed: JobState | "deleted" | undefined;
  /** How the handler wants the attempt to end, where it said so. */
  wish: Outcome | undefined;
  /** The end that the handler is about to have, where it takes a call to the store. */
  ending: Promise<Ending> | undefined;
  /** What the attempt has cost of its rate classes, where the handler said so. */
  actualWeight: number | undefined;
  #logs: string[] | undefined;
  #job: JobRef | undefined;

  constructor(claim: Claim, received: Received) {
    this.claim = claim;
    this.leaseEndsAt = received.leaseEndsAt;
    this.#waitedMs = Math.max(0, received.storeNowMs - claim.scheduledAtMs);
    this.#receivedAt = received.at;
    this.deadlineAt =
      claim.deadlineMs === null ? Infinity : received.at + claim.deadlineMs - received.storeNowMs;
  }

  /** The job for events. */
  get job(): JobRef {
    const { id, kind, queue, partitionKey, attempt, crashAttempt, fence } = this.claim;
    return (this.#job ??= { id, kind, queue, partitionKey, attempt, crashAttempt, fence });
  }

  /** The handler is about to be called; answers how long the job has waited, in line here included. */
  begin(): number {
    this.startedAt = monotonicMs();
    return this.#waitedMs + (this.startedAt - this.#receivedAt);
  }

  get logs(): readonly string[] {
    return this.#logs ?? none;
  }

  /** A line for the attempt's history; the newest 100 are kept. */
  log(line: string): void {
    const logs = (this.#logs ??= []);
    logs.push(storable(line.length > maxLogLength ? line.slice(0, maxLogLength) : line));
    if (logs.length > maxLogs) logs.shift();
  }
}
