import { optionalMilliseconds } from "../duration.js";
import { decodePayload, encodeResult, type KnownTask, type TaskRegistry } from "../tasks/registry.js";
import type { Abort } from "./abort.js";
import type { Attempt } from "./attempt.js";
import { Batches } from "./batches.js";
import { JobContext } from "./context.js";
import type { ContextServices } from "./context-services.js";
import { describeError } from "./describe-error.js";
import { jobFields, type WorkerEmitter } from "./events.js";
import {
  AttemptTimeoutError,
  CheckpointStaleError,
  DeadlineError,
  Ending,
  UndecodableError,
  type Outcome,
} from "./outcome.js";
import { Line } from "./line.js";
import { after, monotonicMs, unlessStuck } from "./timing.js";

/** Code around every handler; it calls `next` to go on, and may see or change what comes back. */
export type WorkerMiddleware = (job: JobContext, next: () => Promise<unknown>) => Promise<unknown>;

export interface RunnerOptions {
  readonly registry: TaskRegistry;
  readonly services: ContextServices;
  readonly middleware: readonly WorkerMiddleware[];
  readonly events: WorkerEmitter;
  /** How long a handler that was told to stop may still hold its slot. */
  readonly stuckGraceMs: number;
  /** How long a job of an unknown kind waits for a worker that knows it. */
  readonly unknownKindMs: number;
}

/** How long a job is put off whose error is no failure, where its task does not say. */
const blamelessMs = 1000;

/** Runs attempts: finds the task, reads the payload, calls the handler within its limits, and says how it ended. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #lines = new Map<KnownTask, Line>();
  #stuck = 0;
  readonly #batches = new Map<KnownTask, Batches>();

  constructor(options: RunnerOptions) {
    this.#options = options;
    for (const task of options.registry.tasks) {
      if (task.concurrency !== undefined) this.#lines.set(task, new Line(task.concurrency));
      if (task.batchHandler) this.#batches.set(task, new Batches(task));
    }
  }

  /** Handlers that run although their attempts have ended. */
  get stuck(): number {
    return this.#stuck;
  }

  /** Resolves with the outcome when the attempt's slot is free again; never rejects. */
  run(attempt: Attempt): Promise<Outcome> {
    const { registry, events, unknownKindMs } = this.#options;
    const task = registry.find(attempt.claim.kind);
    if (!task?.handler && !task?.batchHandler) {
      events.tell("job:unknown", { job: attempt.job });
      return Promise.resolve({ type: "snooze", delayMs: unknownKindMs });
    }
    const line = this.#lines.get(task);
    if (!line) return this.#within(attempt, task);
    if (line.full) return Promise.resolve({ type: "snooze", delayMs: line.putOffMs() });
    const { abort } = attempt;
    // It may be told to stop while it is not its turn.
    return line.run(() => this.#within(attempt, task), abort).catch(() => this.#forced(abort.reason, ""));
  }

  /** The attempt within its timeout, its deadline, and the grace for handlers that do not stop. */
  async #within(attempt: Attempt, task: KnownTask): Promise<Outcome> {
    const { stuckGraceMs, events } = this.#options;
    const { abort } = attempt;
    if (attempt.deadlineAt <= monotonicMs()) abort.abort(new DeadlineError());
    if (abort.aborted) return this.#forced(abort.reason, "");
    const waitedMs = attempt.begin();
    events.tell("job:started", { job: attempt.job, headers: attempt.claim.headers ?? {}, waitedMs });
    const cancelTimers = this.#limits(attempt, task);
    const called = this.#call(attempt, task);
    const outcome = await unlessStuck(called, abort, stuckGraceMs);
    cancelTimers?.();
    if (outcome) return outcome;
    this.#stuck++;
    void called.then(() => this.#stuck--);
    const runningMs = Math.round(monotonicMs() - attempt.startedAt);
    const reason = describeReason(abort.reason);
    events.tell("job:stuck", { job: attempt.job, runningMs, reason });
    return this.#forced(abort.reason, `; the handler did not stop within ${stuckGraceMs} ms`);
  }

  /** Sets a timer for whichever of timeout and deadline comes first, and answers with how to cancel it. */
  #limits({ claim, abort, deadlineAt }: Attempt, task: KnownTask): (() => void) | undefined {
    const timeoutMs = claim.timeoutMs ?? task.timeoutMs ?? Infinity;
    if (timeoutMs === Infinity && deadlineAt === Infinity) return undefined;
    const deadlineMs = deadlineAt - monotonicMs();
    const restMs = Math.min(timeoutMs, deadlineMs);
    const reason = (): Error =>
      deadlineMs < timeoutMs ? new DeadlineError() : new AttemptTimeoutError(timeoutMs);
    return after(restMs, () => abort.abort(reason()), { ref: false });
  }

  /** Never rejects. */
  async #call(attempt: Attempt, task: KnownTask): Promise<Outcome> {
    const { claim, abort } = attempt;
    try {
      const decoded = decodePayload(task, claim.payload, claim.schemaVersion);
      const payload = decoded instanceof Promise ? ((await decoded) as unknown) : decoded;
      const context = new JobContext(attempt, payload, this.#options.services, task);
      const handle = (): unknown => this.#handle(task, payload, context, abort);
      const result = await (this.#options.middleware.length === 0 ? handle() : this.#chain(context, handle));
      if (attempt.completed) return { type: "success" };
      if (abort.aborted) return this.#forced(abort.reason, "");
      if (result instanceof Ending) return result.outcome;
      if (attempt.wish) return attempt.wish;
      context.finish();
      return succeeded(task, result);
    } catch (thrown) {
      const error = await whatWasThrown(attempt, thrown);
      if (attempt.completed) {
        const about = { ...jobFields(attempt.job), error: describeError(error) };
        this.#options.services.logger.warn("a handler failed behind the completion of its job", about);
        return { type: "success" };
      }
      if (abort.aborted) return this.#forced(abort.reason, "");
      return this.#failed(task, attempt, error);
    }
  }

  /** May throw, or answer with a promise: what handlers do. */
  #handle(task: KnownTask, payload: unknown, context: JobContext, abort: Abort): unknown {
    return task.handler
      ? task.handler(payload, context)
      : this.#batches.get(task)?.join(payload, context, abort);
  }

  #chain(context: JobContext, handle: () => unknown): Promise<unknown> {
    let next = async (): Promise<unknown> => await handle();
    for (const around of this.#options.middleware.toReversed()) {
      const inner = next;
      next = () => around(context, inner);
    }
    return next();
  }

  #failed(task: KnownTask, attempt: Attempt, error: unknown): Outcome {
    if (error instanceof Ending) return error.outcome;
    const text = describeError(error);
    if (error instanceof CheckpointStaleError) return { type: "checkpoint_stale", error: text };
    if (error instanceof UndecodableError) return { type: "undecodable", error: text };
    try {
      const failure = task.isFailure?.(error) !== false;
      const delayMs = optionalMilliseconds(task.retryDelay?.(attempt.claim.attempt, error), "retryDelay");
      if (failure) return { type: "retry", error: text, ...(delayMs !== undefined && { delayMs }) };
      if (delayMs === 0) return { type: "rate_limited", byHandler: true };
      return { type: "snooze", delayMs: delayMs ?? blamelessMs };
    } catch (policy) {
      // The task's own rules failed; the error that they were asked about is what matters.
      return { type: "retry", error: `${text}\nthe task's retry rules failed: ${describeError(policy)}` };
    }
  }

  /** How an attempt ends that was told to stop. Where the lease is lost nobody will hear of it. */
  #forced(reason: unknown, suffix: string): Outcome {
    if (reason instanceof DeadlineError) return { type: "skip", error: reason.message + suffix };
    if (reason instanceof AttemptTimeoutError) return { type: "retry", error: reason.message + suffix };
    return { type: "rate_limited" };
  }
}

function succeeded(task: KnownTask, result: unknown): Outcome {
  try {
    const encoded = encodeResult(task, result);
    return {
      type: "success",
      ...(encoded && { result: encoded.bytes, resultVersion: encoded.schemaVersion }),
    };
  } catch (error) {
    return { type: "retry", error: describeError(error) };
  }
}

/** Never rejects. */
async function whatWasThrown({ ending }: Attempt, thrown: unknown): Promise<unknown> {
  if (ending && thrown === ending) return ending.catch((error: unknown) => error);
  try {
    // A proxy that was revoked answers no question.
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new Error("something was thrown that can't be looked at");
  }
}

const describeReason = (reason: unknown): string =>
  reason instanceof Error ? reason.message : String(reason);
