import { setTimeout as sleep } from "node:timers/promises";
import { milliseconds, type Duration } from "../duration.js";
import { StoreError, type Enqueued, type Job, type JobState, type PgStore } from "../store/index.js";
import { encodePayload, TaskRegistry } from "../tasks/registry.js";
import type { InputOf } from "../tasks/task.js";
import { jobOptions, type CallOptions, type EnqueueOptions } from "./options.js";

/** Kinds that may be enqueued: those of the task map, or any where there is none. */
export type KindOf<Tasks> = Extract<keyof Tasks, string>;

/** One job of a batch. */
export interface ClientJob<Tasks, Kind extends KindOf<Tasks> = KindOf<Tasks>> {
  readonly kind: Kind;
  readonly payload?: InputOf<Tasks[Kind]>;
  readonly options?: EnqueueOptions;
}

/** Sees each batch on its way to the store; the first is outermost. */
export type ClientMiddleware = (
  batch: readonly Job[],
  next: (batch: readonly Job[]) => Promise<Enqueued[]>,
) => Promise<Enqueued[]>;

export interface ClientOptions<Tasks extends object> {
  /** The application's tasks: types the payloads, and checks and encodes them as the tasks say. */
  readonly tasks?: Tasks;
  /** For every job that does not say otherwise. */
  readonly defaults?: EnqueueOptions;
  readonly middleware?: readonly ClientMiddleware[];
}

export interface WaitOptions {
  /** @defaultValue "30s" */
  readonly timeout?: Duration;
  readonly signal?: AbortSignal;
}

/** What became of a job that was waited for. */
export interface WaitedFor<Result> {
  readonly id: string;
  readonly state: JobState;
  /** What the handler returned, of a completed job that left something. */
  readonly result: Result | undefined;
}

const ended = new Set<JobState>(["completed", "archived", "cancelled", "quarantined", "undecodable"]);

/**
 * For producers: enqueues jobs by kind.
 *
 * @typeParam Tasks the kinds, each with its task, its handler, or just the type of its payload. Without it any kind and
 * payload will do.
 */
export class Client<Tasks extends object = Record<string, unknown>> {
  readonly store: PgStore;
  readonly #registry: TaskRegistry;
  readonly #defaults: EnqueueOptions;
  readonly #send: (batch: readonly Job[], call: CallOptions) => Promise<Enqueued[]>;

  constructor(store: PgStore, options: ClientOptions<Tasks> = {}) {
    const { tasks, defaults = {}, middleware = [] } = options;
    this.store = store;
    this.#registry = new TaskRegistry(tasks ?? {});
    this.#defaults = defaults;
    this.#send = (batch, { tx }) => {
      const last = (jobs: readonly Job[]): Promise<Enqueued[]> =>
        tx === undefined ? store.enqueue(jobs) : store.enqueueOn(tx, jobs);
      const chain = middleware.reduceRight<(jobs: readonly Job[]) => Promise<Enqueued[]>>(
        (next, around) => (jobs) => around(jobs, next),
        last,
      );
      return chain(batch);
    };
  }

  /**
   * Enqueues one job.
   *
   * @throws StoreError `duplicate` (a unique key is taken), `id_conflict`, `quarantined`, `backpressure`, `invalid`,
   * `unavailable`. ValidationError where the task's schema refuses the payload. RangeError for a duration that is none.
   */
  async enqueue<Kind extends KindOf<Tasks>>(
    kind: Kind,
    payload?: InputOf<Tasks[Kind]>,
    options: EnqueueOptions & CallOptions = {},
  ): Promise<Enqueued> {
    const { tx, signal, ...rest } = options;
    const job = payload === undefined ? { kind, options: rest } : { kind, payload, options: rest };
    const [enqueued] = await this.enqueueMany([job], definedOnly({ tx, signal }));
    return enqueued!;
  }

  /** Enqueues a batch, all or nothing; answers in its order. Throws as `enqueue`. */
  async enqueueMany(batch: readonly ClientJob<Tasks>[], call: CallOptions = {}): Promise<Enqueued[]> {
    const jobs = await Promise.all(batch.map((job) => this.#job(job)));
    call.signal?.throwIfAborted();
    return this.#send(jobs, call);
  }

  /**
   * Enqueues a job and waits until it has ended. It is kept for at least as long as is waited, so that its end can be
   * seen.
   *
   * @throws as `enqueue`; StoreError `not_found` where the job has not ended in time or is gone; the signal's reason.
   */
  async enqueueAndWait<Kind extends KindOf<Tasks>, Result = unknown>(
    kind: Kind,
    payload?: InputOf<Tasks[Kind]>,
    options: EnqueueOptions & WaitOptions = {},
  ): Promise<WaitedFor<Result>> {
    const { timeout = "30s", signal, ...rest } = options;
    const waitMs = milliseconds(timeout, "timeout");
    const retention = Math.max(waitMs + 60_000, milliseconds(rest.retention ?? 0, "retention"));
    const { id } = await this.enqueue(kind, payload, { ...rest, retention, ...definedOnly({ signal }) });
    const began = performance.now();
    for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 1.5, 250)) {
      const job = await this.store.getJob(id);
      if (job && ended.has(job.state))
        return { id, state: job.state, result: await this.#result<Result>(kind, id, job.state) };
      if (!job || performance.now() - began > waitMs) {
        const what = job ? `has not ended after ${waitMs} ms, it is ${job.state}` : "is gone";
        throw new StoreError("not_found", `the job ${id} ${what}`, { fields: { what: "end of job", id } });
      }
      await sleep(pauseMs, undefined, definedOnly({ signal }));
    }
  }

  async #result<Result>(kind: string, id: string, state: JobState): Promise<Result | undefined> {
    if (state !== "completed") return undefined;
    const stored = await this.store.getJobResult(id);
    const codec = this.#registry.find(kind)?.codec;
    if (!stored) return undefined;
    return (
      codec ? codec.decode(stored.bytes) : JSON.parse(Buffer.from(stored.bytes).toString("utf8"))
    ) as Result;
  }

  async #job({ kind, payload, options = {} }: ClientJob<Tasks>): Promise<Job> {
    const task = this.#registry.find(kind);
    const job: Job = { ...jobOptions({ ...this.#defaults, ...options }), kind };
    if (payload === undefined) return job;
    const encoded = task ? await encodePayload(kind, task, payload) : payload;
    return { ...job, payload: encoded, ...(task ? { schemaVersion: task.version } : {}) };
  }
}

function definedOnly<T extends object>(options: T): { [Key in keyof T]?: NonNullable<T[Key]> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: NonNullable<T[Key]>;
  };
}
