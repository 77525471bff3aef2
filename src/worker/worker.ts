import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { Client } from "../client/client.js";
import { milliseconds, type Duration } from "../duration.js";
import { TaskRegistry } from "../tasks/registry.js";
import type { TaskMap } from "../tasks/task.js";
import { AckQueue } from "./acks.js";
import { Attempt } from "./attempt.js";
import { Availability } from "./availability.js";
import type { ContextServices } from "./context-services.js";
import { describeError } from "./describe-error.js";
import { Duties } from "./duties.js";
import { jobFields, WorkerEmitter, type StopReason, type WorkerEvents } from "./events.js";
import { Heartbeat, type Command } from "./heartbeat.js";
import { HeldLeases } from "./held.js";
import { guarded, withFields, type Logger } from "./logger.js";
import { ClaimLoop, type Received } from "./loop.js";
import { narrate } from "./narrate.js";
import { settings, transactionBudget, type Settings, type WorkerOptions } from "./options.js";
import { LeaseLostError, WorkerStoppingError, type Outcome } from "./outcome.js";
import type { Claim, PgStore } from "../store/index.js";
import { Runner, type WorkerMiddleware } from "./runner.js";
import { Semaphore } from "./semaphore.js";
import { isSuspect, Suspects } from "./suspects.js";
import { firstOf, monotonicMs, Notice, pause, Ticker } from "./timing.js";

export interface StopOptions {
  /** How long handlers may go on. @defaultValue the worker's shutdownGrace; for a restart by command: no limit */
  readonly timeout?: Duration;
  /** "abort": hand back at once what is running. @defaultValue "drain" */
  readonly mode?: "drain" | "abort";
}

/** What `status()` tells. */
export interface WorkerStatus {
  readonly workerId: string;
  readonly state: "new" | "running" | "quiet" | "stopping" | "stopped";
  /** Started, and the store has answered an admission. */
  readonly ready: boolean;
  readonly available: boolean;
  /** Handlers that hold a slot. */
  readonly running: number;
  /** Ends of attempts that are not durable yet. */
  readonly unacked: number;
  /** Handlers that have lost their slot and still run. */
  readonly stuck: number;
  readonly polls: number;
  readonly emptyPolls: number;
  /** Kinds that came by and that no task handles, with how often. */
  readonly unknownKinds: Readonly<Record<string, number>>;
}

/** Runs jobs. It installs no signal handlers and never ends the process. */
export class Worker<Tasks extends TaskMap = TaskMap> {
  readonly #store: PgStore;
  readonly #settings: Settings;
  readonly #registry: TaskRegistry;
  /** What handlers get as `job.client` is made of it: listen to it, or wrap it. It knows the worker's tasks. */
  readonly client: Client;
  readonly #logger: Logger;
  readonly #events: WorkerEmitter;
  readonly #incarnation = randomBytes(8).toString("hex");
  readonly #running = new Set<Attempt>();
  readonly #slotFreed = new Notice();
  readonly #availability: Availability;
  readonly #force = new AbortController();
  readonly #unknownKinds = new Map<string, number>();
  #state: WorkerStatus["state"] = "new";
  #rooms: Rooms | undefined;
  #stopped: Promise<void> | undefined;
  #stopReason: StopReason = "stop";

  constructor(store: PgStore, options: WorkerOptions<Tasks>) {
    this.#store = store;
    this.#settings = settings(options);
    this.#registry = new TaskRegistry(options.tasks);
    if (this.#registry.handled.length === 0)
      throw new TypeError("a worker needs at least one task with a handler");
    this.#logger = guarded(withFields(this.#settings.logger, { worker: this.workerId }));
    this.client = new Client(store, { tasks: options.tasks, logger: this.#logger }) as Client;
    this.#events = new WorkerEmitter((error) =>
      this.#logger.error("a listener failed", { error: describeError(error) }),
    );
    this.#availability = new Availability(
      (available, error) => {
        this.#events.tell("store:available", { available, ...(error !== undefined && { error }) });
        this.#slotFreed.notify();
      },
      (error) => this.#logger.error("the store has failed", { error: describeError(error) }),
    );
    narrate(this.#events, this.#logger);
    this.#countUnknownKinds();
  }

  get workerId(): string {
    return this.#settings.workerId;
  }

  /** Why it has stopped, or is about to. */
  get stopReason(): StopReason {
    return this.#stopReason;
  }

  on<Name extends keyof WorkerEvents>(name: Name, listener: (...event: WorkerEvents[Name]) => void): this {
    this.#events.on(name, listener);
    return this;
  }

  off<Name extends keyof WorkerEvents>(name: Name, listener: (...event: WorkerEvents[Name]) => void): this {
    this.#events.off(name, listener);
    return this;
  }

  /** Puts a middleware around all that are there, for handlers that are called from now on. */
  wrap(middleware: WorkerMiddleware): this {
    this.#settings.middleware.unshift(middleware);
    return this;
  }

  status(): WorkerStatus {
    const loop = this.#rooms?.loop;
    return {
      workerId: this.workerId,
      state: this.#state === "running" && loop?.quiet ? "quiet" : this.#state,
      ready: loop?.ready ?? false,
      available: this.#availability.available,
      running: this.#running.size,
      unacked: this.#rooms?.acks.size ?? 0,
      stuck: this.#rooms?.runner.stuck ?? 0,
      polls: loop?.polls ?? 0,
      emptyPolls: loop?.emptyPolls ?? 0,
      unknownKinds: Object.fromEntries(this.#unknownKinds),
    };
  }

  /**
   * Begins to work. Resolves at once; a store that can't be reached is tried until it can (`status().ready`, the event
   * `worker:ready`).
   *
   * @throws RangeError where the pool is too small.
   */
  start(): Promise<void> {
    if (this.#state !== "new") throw new Error(`the worker has been started before and is ${this.#state}`);
    const transactions = new Semaphore(transactionBudget(this.#store.pool.options.max, this.#settings));
    this.#state = "running";
    this.#rooms = this.#build(transactions);
    // The loop has begun before there was anything to ask for free slots.
    this.#slotFreed.notify();
    this.#events.tell("worker:started", { workerId: this.workerId });
    return Promise.resolve();
  }

  /** No new claims; what is held goes on. */
  quiet(): void {
    if (this.#rooms) this.#rooms.loop.quiet = true;
  }

  resume(): void {
    if (this.#rooms) this.#rooms.loop.quiet = false;
  }

  /**
   * Claims no more, lets handlers finish for a while, tells the others to stop and hands their jobs back unharmed, gives
   * its duties up. Resolves when all of that is durable. A second call with mode "abort" cuts the waiting short.
   */
  stop(options: StopOptions = {}): Promise<void> {
    if (options.mode === "abort") this.#force.abort();
    const timeoutMs = milliseconds(options.timeout ?? this.#settings.shutdownGraceMs, "timeout");
    return (this.#stopped ??= this.#stop(timeoutMs));
  }

  /** Resolves when the worker has stopped, whoever stopped it; `stopReason` says why. */
  async stopped(): Promise<StopReason> {
    if (!this.#stopped)
      await new Promise<void>((resolve) => this.#events.once("worker:stopped", () => resolve()));
    await this.#stopped;
    return this.#stopReason;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #build(transactions: Semaphore): Rooms {
    const store = this.#store;
    const {
      queues,
      leaseMs,
      poll,
      quantum,
      wakeups,
      memoryCeiling,
      stuckGraceMs,
      unknownKindMs,
      middleware,
    } = this.#settings;
    const availability = this.#availability;
    const workerId = this.workerId;
    const failed = (error: unknown): void =>
      this.#logger.debug("a call failed", { error: describeError(error) });
    const held = new HeldLeases({
      renew: (leases, lease) => store.renew(leases, lease),
      leaseMs,
      availability,
      lost: (attempt) => this.#lost(attempt),
      failed,
    });
    const acks = new AckQueue({
      ackMany: (list) => store.ackMany(list),
      availability,
      settled: (attempt, outcome, state) => this.#settled(attempt, outcome, state),
      rejected: (attempt, uncertain) => this.#rejected(attempt, uncertain),
      givenUp: (attempt, error) => this.#givenUp(attempt, error),
    });
    const services: ContextServices = {
      store,
      client: this.client,
      logger: this.#logger,
      transactions,
      lose: (attempt) => {
        held.lose(attempt);
        throw new LeaseLostError(attempt.claim.id);
      },
      completed: (attempt) => held.remove(attempt),
    };
    const runner = new Runner({
      registry: this.#registry,
      services,
      middleware,
      events: this.#events,
      stuckGraceMs,
      unknownKindMs,
    });
    const suspects = new Suspects({
      run: (attempt, ready) => this.#run(rooms, attempt, ready),
      putOff: (attempt, delayMs) => {
        attempt.over = true;
        return acks.push(attempt, { type: "snooze", delayMs });
      },
      probationMs: leaseMs,
    });
    const loop = new ClaimLoop({
      admit: (capacity) =>
        store.admit({ worker: workerId, queues, capacity, leaseMs, ...(quantum && { quantum }) }),
      wakeups:
        wakeups && store.notifying
          ? {
              declareSleep: (forMs) => store.declareSleep(workerId, queues, forMs),
              wait: (timeoutMs, signal) => store.waitWakeup(queues, timeoutMs, signal),
            }
          : undefined,
      freeSlots: () => this.#freeSlots(),
      slotFreed: this.#slotFreed,
      ready: () => {
        this.#events.tell("worker:ready", { workerId });
        void this.#findUnhandledKinds();
      },
      admitted: (admission) => this.#events.tell("worker:admission", { workerId, ...admission }),
      accept: (claims, received) => this.#accept(claims, received),
      availability,
      leaseMs,
      poll,
      failed,
    });
    const duties = this.#settings.duties ? this.#buildDuties() : undefined;
    const heartbeat = new Heartbeat({
      beat: () => this.#beat(),
      command: (command) => this.#obey(command),
      unknown: (command) => this.#logger.warn("an unknown command is ignored", { command }),
      availability,
      everyMs: Math.min(leaseMs / 3, 10_000),
    });
    const memory =
      memoryCeiling === undefined
        ? undefined
        : new Ticker(1000, () => this.#checkMemory(memoryCeiling), failed);
    const rooms: Rooms = { held, acks, runner, suspects, loop, duties, heartbeat, memory };
    return rooms;
  }

  #buildDuties(): Duties {
    const store = this.#store;
    return new Duties({
      names: () => store.dutyNames(),
      run: async (duty) => (await store.runDuties(this.workerId, { duties: [duty] }))[0],
      release: (duty) => store.releaseDuty(duty, this.workerId),
      availability: this.#availability,
      failed: (duty, error) => this.#events.tell("duty:failed", { duty, error }),
    });
  }

  #freeSlots(): number {
    const { concurrency } = this.#settings;
    const acks = this.#rooms?.acks;
    if (!acks || acks.failing) return 0;
    // Attempts that only wait for their ack hold no slot, but not without bound.
    return Math.min(concurrency - this.#running.size, 2 * concurrency - this.#running.size - acks.size);
  }

  #accept(claims: readonly Claim[], received: Received): void {
    const rooms = this.#rooms;
    if (!rooms) return;
    const attempts = claims.map((claim) => new Attempt(claim, received));
    for (const attempt of attempts) {
      rooms.held.add(attempt);
      if (this.#state !== "running") this.#handBack(rooms, attempt);
      else if (!isSuspect(attempt.claim)) void this.#run(rooms, attempt);
    }
    if (this.#state === "running") rooms.suspects.accept(attempts.filter(({ claim }) => isSuspect(claim)));
  }

  async #run({ runner, acks, held }: Rooms, attempt: Attempt, ready?: Promise<unknown>): Promise<void> {
    this.#running.add(attempt);
    await ready;
    if (!attempt.over) {
      const outcome = await runner.run(attempt);
      if (attempt.completed) {
        held.remove(attempt);
        this.#settled(attempt, outcome, "completed");
      } else if (!attempt.over) {
        attempt.over = true;
        void acks.push(attempt, outcome);
      }
    }
    this.#running.delete(attempt);
    this.#slotFreed.notify();
  }

  #handBack({ acks }: Rooms, attempt: Attempt): void {
    if (attempt.over || attempt.completed) return;
    attempt.over = true;
    attempt.abort.abort(new WorkerStoppingError());
    void acks.push(attempt, { type: "rate_limited" });
  }

  #settled(attempt: Attempt, outcome: Outcome, state: string): void {
    this.#rooms?.held.remove(attempt);
    attempt.over = true;
    const error = "error" in outcome ? outcome.error : undefined;
    const about = { job: attempt.job, state, ...(error !== undefined && { error }) };
    const durationMs = monotonicMs() - attempt.startedAt;
    this.#events.tell("job:settled", { ...about, outcome: outcome.type, durationMs });
    if (state === "archived" || state === "undecodable") this.#events.tell("job:dead", about);
    this.#slotFreed.notify();
  }

  #rejected(attempt: Attempt, uncertain: boolean): void {
    this.#rooms?.held.remove(attempt);
    attempt.over = true;
    attempt.abort.abort(new LeaseLostError(attempt.claim.id));
    // After a lost answer the first try may well have been heard, so nothing is known to have gone wrong.
    if (uncertain) this.#events.tell("job:uncertain", { job: attempt.job });
    else this.#lost(attempt);
    this.#slotFreed.notify();
  }

  #lost(attempt: Attempt): void {
    this.#events.tell("job:lost", { job: attempt.job });
  }

  #givenUp(attempt: Attempt, error: unknown): void {
    this.#rooms?.held.remove(attempt);
    attempt.over = true;
    attempt.abort.abort(new LeaseLostError(attempt.claim.id));
    this.#events.tell("job:lost", { job: attempt.job, error: describeError(error) });
    this.#slotFreed.notify();
  }

  async #beat(): Promise<string | null> {
    const { queues, concurrency } = this.#settings;
    const { state, running, polls, emptyPolls } = this.status();
    return this.#store.heartbeatWorker({
      workerId: this.workerId,
      incarnation: this.#incarnation,
      host: hostname(),
      pid: process.pid,
      queues,
      concurrency,
      inflight: running,
      polls,
      emptyPolls,
      status: state,
      dutiesActive: this.#rooms?.duties?.active ?? false,
    });
  }

  #obey(command: Command): void {
    this.#events.tell("worker:command", { workerId: this.workerId, command });
    if (command === "quiet") this.quiet();
    else if (command === "resume") this.resume();
    else if (command === "resign") void this.#rooms?.duties?.resign();
    else this.#end(command, command === "restart" ? Number.MAX_SAFE_INTEGER : this.#settings.shutdownGraceMs);
  }

  #end(reason: StopReason, timeoutMs: number): void {
    if (this.#stopped) return;
    this.#stopReason = reason;
    this.#stopped = this.#stop(timeoutMs);
  }

  #checkMemory(ceiling: number): void {
    const resident = process.memoryUsage.rss();
    if (resident <= ceiling || this.#stopped) return;
    this.#logger.warn("the process is larger than its ceiling; the worker stops", { resident, ceiling });
    this.#end("memory", Number.MAX_SAFE_INTEGER);
  }

  async #stop(timeoutMs: number): Promise<void> {
    const rooms = this.#rooms;
    this.#state = rooms ? "stopping" : "stopped";
    if (!rooms) return;
    const { loop, held, acks, duties, heartbeat, memory } = rooms;
    const quiet = loop.stop();
    const resigned = duties?.stop();
    await memory?.stop();
    await firstOf(
      () => this.#idle(),
      (signal) => pause(timeoutMs, signal),
      (signal) => (this.#force.signal.aborted ? Promise.resolve() : onAbort(this.#force.signal, signal)),
    );
    for (const attempt of this.#running) this.#handBack(rooms, attempt);
    // Claims that were on their way have come by now, and have been handed back.
    await quiet;
    await acks.drained();
    await held.stop();
    await resigned;
    await heartbeat.stop();
    this.#state = "stopped";
    await this.#beat().catch(() => undefined);
    this.#events.tell("worker:stopped", { workerId: this.workerId, reason: this.#stopReason });
  }

  async #idle(): Promise<void> {
    while (this.#running.size > 0) await this.#slotFreed.next();
  }

  /** Their number is bounded: kinds may be made up by anybody. */
  #countUnknownKinds(): void {
    this.#events.on("job:unknown", ({ job }) => {
      const count = this.#unknownKinds.get(job.kind) ?? 0;
      if (count === 0 && this.#unknownKinds.size >= 1000) return;
      if (count === 0)
        this.#logger.warn("a job of an unknown kind is put off for other workers", jobFields(job));
      this.#unknownKinds.set(job.kind, count + 1);
    });
  }

  /** Once, beside the work: nobody waits for it, and where it fails nothing is missed. */
  async #findUnhandledKinds(): Promise<void> {
    try {
      const handled = new Set(this.#registry.handled);
      const waiting = await this.#store.distinctKinds(1000, this.#settings.queues);
      const kinds = waiting.filter((kind) => !handled.has(kind)).slice(0, 100);
      if (kinds.length > 0) this.#events.tell("worker:unhandled", { workerId: this.workerId, kinds });
    } catch (error) {
      this.#logger.debug("the kinds that wait could not be read", { error: describeError(error) });
    }
  }
}

interface Rooms {
  readonly held: HeldLeases;
  readonly acks: AckQueue;
  readonly runner: Runner;
  readonly suspects: Suspects;
  readonly loop: ClaimLoop;
  readonly duties: Duties | undefined;
  readonly heartbeat: Heartbeat;
  readonly memory: Ticker | undefined;
}

function onAbort(signal: AbortSignal, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      signal.removeEventListener("abort", done);
      over.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done);
    over.addEventListener("abort", done);
  });
}
