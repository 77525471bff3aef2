import type { Client } from "../client/client.js";
import type { PgStore } from "../store/index.js";
import type { TaskRegistry } from "../tasks/registry.js";
import { AckQueue } from "./acks.js";
import type { Availability } from "./availability.js";
import { describeError } from "./describe-error.js";
import { Duties } from "./duties.js";
import { Endings } from "./endings.js";
import type { WorkerEmitter } from "./events.js";
import { Heartbeat, type Command } from "./heartbeat.js";
import { HeldLeases } from "./held.js";
import { Intake } from "./intake.js";
import type { Logger } from "./logger.js";
import { ClaimLoop } from "./loop.js";
import type { Settings } from "./options.js";
import { LeaseLostError } from "./outcome.js";
import { Releases } from "./releases.js";
import { Runner } from "./runner.js";
import type { Semaphore } from "./semaphore.js";
import { Notice, Ticker } from "./timing.js";

export interface RoomsOptions {
  readonly store: PgStore;
  readonly settings: Settings;
  readonly registry: TaskRegistry;
  /** Of the worker; handlers get one made of it. */
  readonly client: Client;
  readonly logger: Logger;
  readonly events: WorkerEmitter;
  readonly availability: Availability;
  /** For handlers that hold a transaction. */
  readonly transactions: Semaphore;
  /** Told once, when the first admission has been answered. */
  readonly ready: () => void;
  /** Tells the store how the worker fares; resolves with the command that waits for it. */
  readonly beat: () => Promise<string | null>;
  readonly command: (command: Command) => void;
  /** Called when the process is larger than its ceiling. */
  readonly grown: (residentBytes: number) => void;
}

/** The parts of a worker that runs. They know each other only by what each is given here. */
export interface Rooms {
  readonly loop: ClaimLoop;
  readonly intake: Intake;
  readonly runner: Runner;
  readonly held: HeldLeases;
  readonly acks: AckQueue;
  readonly heartbeat: Heartbeat;
  readonly duties: Duties | undefined;
  readonly memory: Ticker | undefined;
}

export function openRooms(options: RoomsOptions): Rooms {
  const { store, settings, registry, client, logger, events, availability, transactions } = options;
  const { workerId, leaseMs } = settings;
  const slotFreed = new Notice();
  const freed = (): void => slotFreed.notify();
  const failed = (error: unknown): void => logger.debug("a call failed", { error: describeError(error) });

  const held: HeldLeases = new HeldLeases({
    renew: (leases, lease) => store.renew(leases, lease),
    leaseMs,
    availability,
    lost: (attempt) => endings.lost(attempt),
    failed,
  });
  const endings = new Endings({ held, events, freed });
  const acks = new AckQueue({
    ackMany: (list) => store.ackMany(list),
    availability,
    settled: (attempt, outcome, state) => endings.settled(attempt, outcome, state),
    rejected: (attempt, uncertain) => endings.rejected(attempt, uncertain),
    givenUp: (attempt, error) => endings.givenUp(attempt, error),
  });
  const runner = new Runner({
    registry,
    services: {
      store,
      client,
      logger,
      transactions,
      lose: (attempt) => {
        held.lose(attempt);
        throw new LeaseLostError(attempt.claim.id);
      },
      completed: (attempt) => held.remove(attempt),
    },
    middleware: settings.middleware,
    events,
    stuckGraceMs: settings.stuckGraceMs,
    unknownKindMs: settings.unknownKindMs,
  });
  const intake = new Intake({
    held,
    acks,
    runner,
    endings,
    freed,
    leaseMs,
    releases: new Releases(settings),
  });
  const loop = openLoop(options, { intake, acks, slotFreed, failed });
  return {
    loop,
    intake,
    runner,
    held,
    acks,
    heartbeat: new Heartbeat({
      beat: options.beat,
      command: options.command,
      unknown: (command) => logger.warn("an unknown command is ignored", { command }),
      availability,
      everyMs: Math.min(leaseMs / 3, 10_000),
    }),
    duties: settings.duties ? openDuties(store, workerId, events, availability) : undefined,
    memory: watchMemory(settings.memoryCeiling, options.grown, failed),
  };
}

interface LoopNeighbours {
  readonly intake: Intake;
  readonly acks: AckQueue;
  readonly slotFreed: Notice;
  readonly failed: (error: unknown) => void;
}

function openLoop(
  { store, settings, events, availability, ready }: RoomsOptions,
  { intake, acks, slotFreed, failed }: LoopNeighbours,
): ClaimLoop {
  const { workerId, queues, concurrency, leaseMs, poll, quantum } = settings;
  return new ClaimLoop({
    admit: (capacity) =>
      store.admit({ worker: workerId, queues, capacity, leaseMs, ...(quantum && { quantum }) }),
    wakeups:
      settings.wakeups && store.notifying
        ? {
            declareSleep: (forMs) => store.declareSleep(workerId, queues, forMs),
            wait: (timeoutMs, over) => store.waitWakeup(queues, timeoutMs, over.signal),
          }
        : undefined,
    freeSlots: () => {
      const { running } = intake;
      // Attempts that only wait for their ack hold no slot, but not without bound.
      return acks.failing ? 0 : Math.min(concurrency - running, 2 * concurrency - running - acks.size);
    },
    slotFreed,
    ready,
    admitted: (admission) => events.tell("worker:admission", { workerId, ...admission }),
    accept: (claims, received) => intake.accept(claims, received),
    availability,
    leaseMs,
    poll,
    failed,
  });
}

function openDuties(
  store: PgStore,
  workerId: string,
  events: WorkerEmitter,
  availability: Availability,
): Duties {
  return new Duties({
    names: () => store.dutyNames(),
    run: async (duty) => (await store.runDuties(workerId, { duties: [duty] }))[0],
    release: (duty) => store.releaseDuty(duty, workerId),
    availability,
    failed: (duty, error) => events.tell("duty:failed", { duty, error }),
  });
}

function watchMemory(
  ceiling: number | undefined,
  grown: (residentBytes: number) => void,
  failed: (error: unknown) => void,
): Ticker | undefined {
  if (ceiling === undefined) return undefined;
  const look = (): void => {
    const resident = process.memoryUsage.rss();
    if (resident > ceiling) grown(resident);
  };
  return new Ticker(1000, look, failed);
}
