import { setTimeout as sleep } from "node:timers/promises";
import { milliseconds, optionalMilliseconds, type Duration } from "../duration.js";
import { StoreError, type Enqueued, type Job, type PgStore, type Tx } from "../store/index.js";
import { jsonCodec } from "../tasks/codec.js";
import { encodePayload, TaskRegistry } from "../tasks/registry.js";
import type { InputOf } from "../tasks/task.js";

/** Everything about a job but its kind and payload. Durations are milliseconds or texts such as "5m". */
export interface EnqueueOptions extends Omit<
  Job,
  | "kind"
  | "payload"
  | "schemaVersion"
  | "delayMs"
  | "timeoutMs"
  | "retentionMs"
  | "uniqueWindowMs"
  | "uniqueDebounceMs"
> {
  /** Run it so much later. */
  readonly delay?: Duration;
  /** For one attempt. */
  readonly timeout?: Duration;
  /** How long it is kept when it has ended well. @defaultValue 0: deleted at once */
  readonly retention?: Duration;
  readonly uniqueWindow?: Duration;
  readonly uniqueDebounce?: Duration;
}

/** Code around every call to the store that enqueues; it may change the batch, and calls `next` to go on. */
export type ClientMiddleware = (
  batch: readonly Job[],
  next: (batch: readonly Job[]) => Promise<Enqueued[]>,
) => Promise<Enqueued[]>;

export interface ClientOptions<Tasks extends object> {
  /** Shared with the worker: schemas, versions and codecs are used for what is enqueued. */
  readonly tasks?: Tasks;
  /** Go with every job; a job's own win. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The first is outermost. */
  readonly middleware?: readonly ClientMiddleware[];
}

export interface WaitOptions extends EnqueueOptions {
  /** How long to wait for the end. @defaultValue "30s" */
  readonly wait?: Duration;
  /** Aborts the waiting; the job goes on. */
  readonly signal?: AbortSignal;
}

/** The job that was waited for has ended, but not well. */
export class JobFailedError extends Error {
  override readonly name = "JobFailedError";
  constructor(
    readonly jobId: string,
    readonly state: string,
    readonly reason: string | undefined,
  ) {
    super(`job ${jobId} has ended as ${state}${reason === undefined ? "" : `: ${reason}`}`);
  }
}

/**
 * Enqueues jobs.
 *
 * @typeParam Tasks the kinds, each with its task, its handler, or just the type of its payload. Without it any kind and
 * payload will do.
 */
export class Client<Tasks extends object = Record<string, unknown>> {
  readonly #store: PgStore;
  readonly #options: ClientOptions<Tasks>;
  readonly #registry: TaskRegistry;
  readonly #tx: Tx | undefined;

  constructor(store: PgStore, options: ClientOptions<Tasks> = {}, tx?: Tx) {
    this.#store = store;
    this.#options = options;
    this.#registry = new TaskRegistry(options.tasks ?? {});
    this.#tx = tx;
  }

  /** The same client in a transaction of yours: the jobs are there when it commits, and only then. */
  within(tx: Tx): Client<Tasks> {
    return new Client(this.#store, this.#options, tx);
  }

  /** @throws StoreError `duplicate` and the like; ValidationError where the task's schema refuses the payload. */
  async enqueue<Kind extends keyof Tasks & string>(
    kind: Kind,
    payload: InputOf<Tasks[Kind]>,
    options: EnqueueOptions = {},
  ): Promise<Enqueued> {
    const [placed] = await this.#send([await this.#job(kind, payload, options)]);
    if (!placed) throw new StoreError("backend", "the store has not said what became of the job");
    return placed;
  }

  /** All or nothing; answers in order. */
  async enqueueMany<Kind extends keyof Tasks & string>(
    batch: readonly { kind: Kind; payload: InputOf<Tasks[Kind]>; options?: EnqueueOptions }[],
  ): Promise<Enqueued[]> {
    return this.#send(
      await Promise.all(batch.map(({ kind, payload, options = {} }) => this.#job(kind, payload, options))),
    );
  }

  /**
   * Enqueues and waits for the result. The job is kept for a minute unless `retention` says otherwise; not in a
   * transaction, where nobody could run it.
   *
   * @throws JobFailedError where it ends badly; the signal's reason, or a TimeoutError, where that comes first.
   */
  async enqueueAndWait<Kind extends keyof Tasks & string>(
    kind: Kind,
    payload: InputOf<Tasks[Kind]>,
    options: WaitOptions = {},
  ): Promise<unknown> {
    if (this.#tx) throw new TypeError("a job can't be waited for in the transaction that enqueues it");
    const { wait = "30s", signal, ...rest } = options;
    const { id } = await this.enqueue(kind, payload, { retention: "1m", ...rest });
    const over = AbortSignal.any([
      AbortSignal.timeout(milliseconds(wait, "wait")),
      ...(signal ? [signal] : []),
    ]);
    for (let delay = 10; ; delay = Math.min(delay * 1.5, 500)) {
      over.throwIfAborted();
      const job = await this.#store.getJob(id);
      if (job?.state === "completed") {
        const result = await this.#store.getJobResult(id);
        const codec = this.#registry.find(kind)?.codec ?? jsonCodec;
        return result ? codec.decode(result.bytes) : undefined;
      }
      if (!job || ["archived", "cancelled", "quarantined", "undecodable"].includes(job.state)) {
        const [last] = job ? await this.#store.listAttempts(id, 1) : [];
        throw new JobFailedError(id, job?.state ?? "deleted", last?.error ?? undefined);
      }
      await sleep(delay, undefined, { signal: over }).catch(() => over.throwIfAborted());
    }
  }

  async #job(kind: string, payload: unknown, options: EnqueueOptions): Promise<Job> {
    const { delay, timeout, retention, uniqueWindow, uniqueDebounce, ...rest } = options;
    const task = this.#registry.find(kind);
    const headers = { ...this.#options.headers, ...options.headers };
    const durations = {
      delayMs: optionalMilliseconds(delay, "delay"),
      timeoutMs: optionalMilliseconds(timeout, "timeout"),
      retentionMs: optionalMilliseconds(retention, "retention"),
      uniqueWindowMs: optionalMilliseconds(uniqueWindow, "uniqueWindow"),
      uniqueDebounceMs: optionalMilliseconds(uniqueDebounce, "uniqueDebounce"),
    };
    const given = Object.entries(durations).filter(([, value]) => value !== undefined);
    return {
      ...rest,
      ...(Object.fromEntries(given) as Partial<Job>),
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(task && task.version > 1 && { schemaVersion: task.version }),
      kind,
      payload: await encodePayload(kind, task, payload),
    };
  }

  #send(batch: readonly Job[]): Promise<Enqueued[]> {
    const tx = this.#tx;
    let next = (jobs: readonly Job[]): Promise<Enqueued[]> =>
      tx ? this.#store.enqueueTx(tx, jobs) : this.#store.enqueue(jobs);
    for (const around of [...(this.#options.middleware ?? [])].reverse()) {
      const inner = next;
      next = (jobs) => around(jobs, inner);
    }
    return next(batch);
  }
}
