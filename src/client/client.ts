import { setTimeout as sleep } from "node:timers/promises";
import { milliseconds, type Duration } from "../duration.js";
import { StoreError, type Enqueued, type JobState, type PgStore, type Tx } from "../store/index.js";
import type { InputOf, PayloadAnd, ResultOf } from "../tasks/task.js";
import type { CircuitStatus } from "./circuit.js";
import { ClientCore, type ClientMiddleware, type ClientOptions } from "./core.js";
import type { ClientEvents, EnqueueRequest } from "./events.js";
import type { CallOptions, EnqueueOptions } from "./options.js";

/** Kinds that may be enqueued: those of the task map, or any where there is none. */
export type KindOf<Tasks> = Extract<keyof Tasks, string>;

/** One job of a batch; of each kind its own payload. */
export type ClientJob<Tasks, Kind extends KindOf<Tasks> = KindOf<Tasks>> = {
  readonly [Each in Kind]: {
    readonly kind: Each;
    readonly options?: EnqueueOptions;
  } & (undefined extends InputOf<Tasks[Each]>
    ? { readonly payload?: InputOf<Tasks[Each]> }
    : { readonly payload: InputOf<Tasks[Each]> });
}[Kind];

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

/** What the calls of a client made by `with` have in common. */
export interface ClientScope {
  /** For each job, under its own headers; one with a traceparent of its own inherits no trace. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Where to enqueue unless a call says otherwise: a transaction, or a function that tells it at each call. */
  readonly tx?: Tx | (() => Tx | undefined);
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
  readonly #core: ClientCore;
  readonly #scope: ClientScope;
  /** Around everything that `#inner` has. */
  readonly #middleware: ClientMiddleware[];
  readonly #inner: Client<Tasks> | undefined;

  constructor(
    store: PgStore,
    options: ClientOptions<Tasks> = {},
    /** @internal */ inner?: Client<Tasks>,
    /** @internal */ scope: ClientScope = {},
  ) {
    this.store = store;
    this.#core = inner ? inner.#core : new ClientCore(store, options);
    this.#scope = inner ? { ...inner.#scope, ...scope } : scope;
    this.#middleware = [...(options.middleware ?? [])];
    this.#inner = inner;
  }

  /** The state of the circuit breaker; undefined: there is none. */
  get circuit(): CircuitStatus | undefined {
    return this.#core.circuit?.status;
  }

  on<Name extends keyof ClientEvents>(name: Name, listener: (...event: ClientEvents[Name]) => void): this {
    this.#core.events.on(name, listener);
    return this;
  }

  off<Name extends keyof ClientEvents>(name: Name, listener: (...event: ClientEvents[Name]) => void): this {
    this.#core.events.off(name, listener);
    return this;
  }

  /** Puts a middleware around all that are there, in this client and those made of it. */
  wrap(middleware: ClientMiddleware): this {
    this.#middleware.unshift(middleware);
    return this;
  }

  /** This client for one purpose, a request say: the same tasks, middleware, events and circuit, within the scope. */
  with(scope: ClientScope): Client<Tasks> {
    return new Client<Tasks>(this.store, {}, this, scope);
  }

  /**
   * Enqueues one job.
   *
   * @throws StoreError `duplicate` (a unique key is taken), `id_conflict`, `quarantined`, `backpressure`, `invalid`,
   * `unavailable`. ValidationError where the task's schema refuses the payload. RangeError for a duration that is none.
   */
  async enqueue<Kind extends KindOf<Tasks>>(
    kind: Kind,
    ...[payload, options = {}]: PayloadAnd<Tasks[Kind], EnqueueOptions & CallOptions>
  ): Promise<Enqueued> {
    return this.#enqueueOne(kind, payload, options);
  }

  /** Enqueues a batch, all or nothing; answers in its order. Throws as `enqueue`. */
  async enqueueMany(batch: readonly ClientJob<Tasks>[], call: CallOptions = {}): Promise<Enqueued[]> {
    return this.#enqueueAll(batch, call);
  }

  /**
   * Enqueues a job and waits until it has ended. It is kept for at least as long as is waited, so that its end can be
   * seen. While the store can't be reached it is asked again.
   *
   * @throws as `enqueue`; StoreError `not_found` where the job has not ended in time or is gone, `invalid` in a
   * transaction (the job would wait for its commit); the signal's reason.
   */
  async enqueueAndWait<Kind extends KindOf<Tasks>, Result = ResultOf<Tasks[Kind]>>(
    kind: Kind,
    ...[payload, options = {}]: PayloadAnd<Tasks[Kind], EnqueueOptions & WaitOptions>
  ): Promise<WaitedFor<Result>> {
    const { timeout = "30s", signal, ...rest } = options;
    if (this.#tx() !== undefined) {
      const [reason, bound] = ["can't be waited in", "outside of once, stepOnce and with({ tx })"];
      throw new StoreError("invalid", `a transaction ${reason} (${bound})`, {
        fields: { field: "tx", reason, bound },
      });
    }
    const waitMs = milliseconds(timeout, "timeout");
    const retention = Math.max(waitMs + 60_000, milliseconds(rest.retention ?? 0, "retention"));
    const { id } = await this.#enqueueOne(kind, payload, { ...rest, retention, ...definedOnly({ signal }) });
    const began = performance.now();
    for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 1.5, 250)) {
      const over = performance.now() - began > waitMs;
      try {
        const job = await this.store.getJob(id);
        if (job && ended.has(job.state))
          return { id, state: job.state, result: await this.#result<Result>(kind, id, job.state) };
        if (!job || over) {
          const what = job ? `has not ended after ${waitMs} ms, it is ${job.state}` : "is gone";
          throw new StoreError("not_found", `the job ${id} ${what}`, { fields: { what: "end of job", id } });
        }
      } catch (error) {
        // The job is there; only the answer is missing.
        if (over || !(error instanceof StoreError) || error.code !== "unavailable") throw error;
      }
      await sleep(pauseMs, undefined, definedOnly({ signal }));
    }
  }

  async #enqueueOne(
    kind: string,
    payload: unknown,
    { tx, signal, ...options }: EnqueueOptions & CallOptions,
  ): Promise<Enqueued> {
    const [enqueued] = await this.#enqueueAll(
      [{ kind, options, ...definedOnly({ payload }) }],
      definedOnly({ tx, signal }),
    );
    return enqueued!;
  }

  async #enqueueAll(batch: readonly EnqueueRequest[], call: CallOptions): Promise<Enqueued[]> {
    const { tx = this.#tx(), signal } = call;
    const about = { inherited: this.#scope.headers ?? {}, tx };
    return this.#core.enqueue(batch, about, this.#chain(), signal);
  }

  #chain(): readonly ClientMiddleware[] {
    return this.#inner ? [...this.#middleware, ...this.#inner.#chain()] : this.#middleware;
  }

  #tx(): Tx | undefined {
    const { tx } = this.#scope;
    return typeof tx === "function" ? tx() : tx;
  }

  async #result<Result>(kind: string, id: string, state: JobState): Promise<Result | undefined> {
    if (state !== "completed") return undefined;
    const stored = await this.store.getJobResult(id);
    const codec = this.#core.registry.find(kind)?.codec;
    if (!stored) return undefined;
    return (
      codec ? codec.decode(stored.bytes) : JSON.parse(Buffer.from(stored.bytes).toString("utf8"))
    ) as Result;
  }
}

function definedOnly<T extends object>(options: T): { [Key in keyof T]?: NonNullable<T[Key]> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: NonNullable<T[Key]>;
  };
}
