import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { Client } from "../client/client.js";
import { milliseconds, type Duration } from "../duration.js";
import type { PgStore } from "../store/index.js";
import { TaskRegistry } from "../tasks/registry.js";
import type { TaskMap } from "../tasks/task.js";
import { Availability } from "./availability.js";
import { describeError } from "./describe-error.js";
import { Drain } from "./drain.js";
import { WorkerEmitter, type StopReason, type WorkerEvents } from "./events.js";
import { guardProcess } from "./guard.js";
import type { Command } from "./heartbeat.js";
import { guarded, withFields, type Logger } from "./logger.js";
import { narrate } from "./narrate.js";
import { settings, transactionBudget, type Settings, type WorkerOptions } from "./options.js";
import { openRooms, type Rooms } from "./rooms.js";
import type { WorkerMiddleware } from "./runner.js";
import { Semaphore } from "./semaphore.js";
import { firstOf } from "./timing.js";
import { UnhandledKinds } from "./unhandled-kinds.js";

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

/** Runs jobs. It installs no signal handlers, and unless it was made with `guard` it never ends the process. */
export class Worker<Tasks extends TaskMap = TaskMap> {
  readonly #store: PgStore;
  readonly #settings: Settings;
  readonly #registry: TaskRegistry;
  /** What handlers get as `job.client` is made of it: listen to it, or wrap it. It knows the worker's tasks. */
  readonly client: Client;
  readonly #logger: Logger;
  readonly #events: WorkerEmitter;
  readonly #incarnation = randomBytes(8).toString("hex");
  readonly #availability: Availability;
  readonly #unhandled: UnhandledKinds;
  readonly #drain = new Drain();
  #state: WorkerStatus["state"] = "new";
  #rooms: Rooms | undefined;
  #unguard: (() => void) | undefined;
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
      (available, error) =>
        this.#events.tell("store:available", { available, ...(error !== undefined && { error }) }),
      (error) => this.#logger.error("the store has failed", { error: describeError(error) }),
    );
    narrate(this.#events, this.#logger);
    this.#unhandled = new UnhandledKinds({
      store,
      registry: this.#registry,
      workerId: this.workerId,
      queues: this.#settings.queues,
      events: this.#events,
      logger: this.#logger,
    });
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
    const { loop, intake, acks, runner } = this.#rooms ?? {};
    return {
      workerId: this.workerId,
      state: this.#state === "running" && loop?.quiet ? "quiet" : this.#state,
      ready: loop?.ready ?? false,
      available: this.#availability.available,
      running: intake?.running ?? 0,
      unacked: acks?.size ?? 0,
      stuck: runner?.stuck ?? 0,
      polls: loop?.polls ?? 0,
      emptyPolls: loop?.emptyPolls ?? 0,
      unknownKinds: this.#unhandled.seen,
    };
  }

  /**
   * Begins to work. Resolves at once; a store that can't be reached is tried until it can (`status().ready`, the event
   * `worker:ready`).
   *
   * @throws RangeError where the pool is too small.
   */
  // eslint-disable-next-line @typescript-eslint/require-await -- what is wrong is to reject, not to throw
  async start(): Promise<void> {
    if (this.#state !== "new") throw new Error(`the worker has been started before and is ${this.#state}`);
    const transactions = new Semaphore(transactionBudget(this.#store.pool.options.max, this.#settings));
    this.#state = "running";
    if (this.#settings.guard) {
      this.#unguard = guardProcess({
        graceMs: this.#settings.shutdownGraceMs,
        fault: (error) =>
          this.#logger.error("nobody caught this; the worker stops", { error: describeError(error) }),
        drain: () => this.#faulted(),
      });
    }
    this.#rooms = openRooms({
      store: this.#store,
      settings: this.#settings,
      registry: this.#registry,
      client: this.client,
      logger: this.#logger,
      events: this.#events,
      availability: this.#availability,
      transactions,
      ready: () => {
        this.#events.tell("worker:ready", { workerId: this.workerId });
        void this.#unhandled.look();
      },
      beat: () => this.#beat(),
      command: (command) => this.#obey(command),
      grown: (resident) => this.#outgrown(resident),
    });
    this.#events.tell("worker:started", { workerId: this.workerId });
  }

  /** No new claims; what is held goes on. */
  quiet(): void {
    if (this.#rooms) this.#rooms.loop.quiet = true;
  }

  /** Ends `quiet`, and takes up duties that were given up by command. */
  resume(): void {
    if (!this.#rooms || this.#stopped) return;
    this.#rooms.loop.quiet = false;
    this.#rooms.duties?.resume();
  }

  /**
   * Claims no more, lets handlers finish for a while, tells the others to stop and hands their jobs back unharmed, gives
   * its duties up. Resolves when all of that is durable. Another call may cut the waiting short, never prolong it.
   */
  async stop(options: StopOptions = {}): Promise<void> {
    const { mode, timeout = this.#settings.shutdownGraceMs } = options;
    return this.#end(mode === "abort" ? 0 : milliseconds(timeout, "timeout"));
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
    else {
      // Who is to terminate is not to come back, whatever was asked before.
      if (!this.#stopped || command === "terminate") this.#stopReason = command;
      void this.#end(command === "restart" ? Infinity : this.#settings.shutdownGraceMs);
    }
  }

  #outgrown(resident: number): void {
    if (this.#stopped) return;
    const ceiling = this.#settings.memoryCeiling;
    this.#logger.warn("the process is larger than its ceiling; the worker stops", { resident, ceiling });
    this.#stopReason = "memory";
    void this.#end(Infinity);
  }

  async #faulted(): Promise<void> {
    this.#stopReason = "fault";
    await this.#end(Infinity);
  }

  #end(drainMs: number): Promise<void> {
    this.#drain.limit(drainMs);
    return (this.#stopped ??= this.#shutDown());
  }

  async #shutDown(): Promise<void> {
    if (this.#rooms) {
      this.#state = "stopping";
      await this.#close(this.#rooms);
    }
    this.#state = "stopped";
    if (this.#rooms) await this.#beat().catch(() => undefined);
    this.#unguard?.();
    this.#events.tell("worker:stopped", { workerId: this.workerId, reason: this.#stopReason });
  }

  async #close({ loop, intake, held, acks, duties, heartbeat, memory }: Rooms): Promise<void> {
    intake.close();
    const quiet = loop.stop();
    const resigned = duties?.stop();
    await memory?.stop();
    await firstOf(
      () => intake.idle(),
      (over) => this.#drain.over(over),
    );
    intake.handBackAll();
    // Claims that were on their way have come by now, and have been handed back.
    await quiet;
    await acks.drained();
    await held.stop();
    await resigned;
    await heartbeat.stop();
  }
}
