/** How an attempt ends. */
export type Outcome =
  | { readonly type: "success"; readonly result?: Buffer; readonly resultVersion?: number }
  | { readonly type: "retry"; readonly error: string; readonly delayMs?: number }
  | { readonly type: "skip"; readonly error?: string }
  | { readonly type: "revoke" }
  | { readonly type: "snooze"; readonly delayMs: number; readonly error?: string }
  | {
      readonly type: "rate_limited";
      readonly error?: string;
      /** The handler hands it back, and may do so again and again. */
      readonly byHandler?: true;
    }
  | { readonly type: "undecodable"; readonly error: string }
  | { readonly type: "checkpoint_stale"; readonly error: string };

/**
 * What a handler returns (or throws) to end its attempt otherwise than by success or error; made by `job.snooze()` and
 * its like.
 */
export class Ending extends Error {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super(`the attempt ends as ${outcome.type}`);
    this.name = "Ending";
    this.outcome = outcome;
  }
}

/** The handler's steps are not those that an earlier attempt has recorded. */
export class CheckpointStaleError extends Error {
  override readonly name = "CheckpointStaleError";
}

/** The payload is not what its task can read; trying again would not help. */
export class UndecodableError extends Error {
  override readonly name = "UndecodableError";
}

/** Reason of the abort signal when the lease is lost: nothing that the handler still does counts. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";
  constructor(jobId: string) {
    super(`the lease of job ${jobId} is lost`);
  }
}

/** Reason of the abort signal when an attempt has run for its timeout. */
export class AttemptTimeoutError extends Error {
  override readonly name = "AttemptTimeoutError";
  constructor(readonly timeoutMs: number) {
    super(`the attempt took longer than its timeout of ${timeoutMs} ms`);
  }
}

/** Reason of the abort signal when the job's deadline has passed. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
  constructor() {
    super("the deadline of the job has passed");
  }
}

/** Reason of the abort signal when the worker stops and the time to drain is over; the job is handed back unharmed. */
export class WorkerStoppingError extends Error {
  override readonly name = "WorkerStoppingError";
  constructor() {
    super("the worker stops; the job is handed back");
  }
}
