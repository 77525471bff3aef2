import { SafeEmitter } from "../events.js";
import type { Enqueued, Job, PgStore, Tx } from "../store/index.js";
import { jsonCodec } from "../tasks/codec.js";
import { checkPayload, encodePayload, TaskRegistry } from "../tasks/registry.js";
import { describeError } from "../worker/describe-error.js";
import { guarded, jsonLogger, type Logger } from "../worker/logger.js";
import { CircuitBreaker, type CircuitBreakerOptions } from "./circuit.js";
import type { ClientEvents, EnqueueRequest } from "./events.js";
import { inheritHeaders, type Headers } from "./headers.js";
import { checkEntry, jobOptions, type EnqueueOptions } from "./options.js";

/** What a middleware may know of a call beside its batch. */
export interface ClientCall {
  /** Headers that the batch has from `client.with`, a handler's client for one. */
  readonly inherited: Headers;
  /** The transaction in which the batch is enqueued. */
  readonly tx?: Tx | undefined;
}

/** Sees each batch on its way to the store; the first is outermost. */
export type ClientMiddleware = (
  batch: readonly Job[],
  next: (batch: readonly Job[]) => Promise<Enqueued[]>,
  call: ClientCall,
) => Promise<Enqueued[]>;

export interface ClientOptions<Tasks extends object> {
  /** The application's tasks: types the payloads, and checks and encodes them as the tasks say. */
  readonly tasks?: Tasks;
  /** For every job that does not say otherwise. */
  readonly defaults?: EnqueueOptions;
  readonly middleware?: readonly ClientMiddleware[];
  /** Refuses at once while the database can't be reached. @defaultValue off */
  readonly circuitBreaker?: CircuitBreakerOptions;
  /** @defaultValue warnings and errors as JSON on stderr */
  readonly logger?: Logger;
}

/** What a client has in common with those that `with` makes of it. */
export class ClientCore {
  readonly registry: TaskRegistry;
  readonly events: SafeEmitter<ClientEvents>;
  readonly circuit: CircuitBreaker | undefined;
  readonly #store: PgStore;
  readonly #defaults: EnqueueOptions;

  constructor(store: PgStore, options: ClientOptions<object>) {
    const { tasks = {}, defaults = {}, circuitBreaker } = options;
    const logger = guarded(options.logger ?? jsonLogger());
    this.#store = store;
    this.registry = new TaskRegistry(tasks as Record<string, object>);
    this.#defaults = defaults;
    this.events = new SafeEmitter((error) =>
      logger.error("a listener failed", { error: describeError(error) }),
    );
    if (circuitBreaker) {
      this.circuit = new CircuitBreaker(circuitBreaker, (status, error) => {
        this.events.tell("circuit:changed", { ...status, ...(error !== undefined && { error }) });
      });
      this.events.on("circuit:changed", ({ state, failures, error }) => {
        if (state === "open")
          logger.warn("the circuit is open", { circuit: state, failures, error: describeError(error) });
        else logger.info(`the circuit is ${state}`, { circuit: state });
      });
    }
  }

  /** The whole way of a batch: events, payloads, middleware, store. */
  async enqueue(
    batch: readonly EnqueueRequest[],
    call: ClientCall,
    middleware: readonly ClientMiddleware[],
    signal: AbortSignal | undefined,
  ): Promise<Enqueued[]> {
    const about = { batch, transaction: call.tx !== undefined };
    const began = performance.now();
    this.events.tell("enqueue:before", about);
    try {
      const jobs = await Promise.all(batch.map((job) => this.#job(job, call.inherited)));
      signal?.throwIfAborted();
      const enqueued = await this.#send(jobs, call, middleware);
      this.events.tell("enqueue:after", { ...about, enqueued, durationMs: performance.now() - began });
      return enqueued;
    } catch (error) {
      this.events.tell("enqueue:failed", { ...about, error, durationMs: performance.now() - began });
      throw error;
    }
  }

  #send(
    batch: readonly Job[],
    call: ClientCall,
    middleware: readonly ClientMiddleware[],
  ): Promise<Enqueued[]> {
    const chain = middleware.reduceRight<(jobs: readonly Job[]) => Promise<Enqueued[]>>(
      (next, around) => (jobs) => around(jobs, next, call),
      (jobs) => this.#place(jobs, call.tx),
    );
    return chain(batch);
  }

  #place(jobs: readonly Job[], tx: Tx | undefined): Promise<Enqueued[]> {
    // The caller's connection says nothing about ours, and works or fails by itself.
    if (tx !== undefined) return this.#store.enqueueOn(tx, jobs);
    if (!this.circuit) return this.#store.enqueue(jobs);
    return this.circuit.run(() => this.#store.enqueue(jobs));
  }

  async #job(request: EnqueueRequest, inherited: Headers): Promise<Job> {
    checkEntry(request);
    const { kind, payload, options = {} } = request;
    const task = this.registry.find(kind);
    const { headers, ...rest } = jobOptions({ ...this.#defaults, ...options });
    const both = inheritHeaders(headers, inherited);
    const version = task && { schemaVersion: task.version };
    const job: Job = { ...rest, ...(Object.keys(both).length > 0 && { headers: both }), ...version, kind };
    // The store's own default is JSON; where it is not read as such, the codec says what stands for nothing.
    if (payload === undefined && (task === undefined || task.codec === jsonCodec)) {
      await checkPayload(kind, task, payload);
      return job;
    }
    return { ...job, payload: task ? await encodePayload(kind, task, payload) : payload };
  }
}
