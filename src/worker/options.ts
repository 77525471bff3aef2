import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { milliseconds, type Duration } from "../duration.js";
import type { TaskMap } from "../tasks/task.js";
import { jsonLogger, type Logger } from "./logger.js";
import type { WorkerMiddleware } from "./runner.js";

export interface WorkerOptions<Tasks extends TaskMap = TaskMap> {
  /** By kind: a handler, or a `task(...)` with one. */
  readonly tasks: Tasks;
  /** Queues to claim from. @defaultValue ["default"] */
  readonly queues?: readonly string[];
  /** Jobs that run at the same time, in all. @defaultValue 16 */
  readonly concurrency?: number;
  /** Handlers that may hold a transaction (`once`, `stepOnce`) at the same time; the pool must have two connections more.
   *  @defaultValue what the pool allows, at most `concurrency` */
  readonly maxTransactions?: number;
  /** How long a claim lasts without renewal; it is renewed at a third of it. @defaultValue "30s" */
  readonly lease?: Duration;
  /** Names the worker in the store; unique among those that live. @defaultValue host, process and a random part */
  readonly workerId?: string;
  /** Waits between empty polls: doubled from min to max. Wake-ups make up for them. @defaultValue 50 ms to 2 s */
  readonly poll?: { readonly min?: Duration; readonly max?: Duration };
  /** Jobs from one partition in one admission. @defaultValue an even share */
  readonly quantum?: number;
  /** How long `stop` lets handlers finish before it hands their jobs back. @defaultValue "25s" */
  readonly shutdownGrace?: Duration;
  /** How long a handler that was told to stop keeps its slot. @defaultValue "10s" */
  readonly stuckGrace?: Duration;
  /** How long a job of an unknown kind is put off, for a worker that knows it. @defaultValue "30s" */
  readonly unknownKindDelay?: Duration;
  /** Run the store's sweeps as well. @defaultValue true */
  readonly duties?: boolean;
  /** Wake up by notification where the store can. @defaultValue true */
  readonly wakeups?: boolean;
  /** When the process is larger than this (bytes, resident), the worker stops as for a restart. @defaultValue none */
  readonly memoryCeiling?: number;
  /** Where an error that nobody caught would end the process: drain for at most `shutdownGrace`, then exit
   *  with 1. @defaultValue false: no handler is installed */
  readonly guard?: boolean;
  /** Code around every handler; the first is outermost. */
  readonly middleware?: readonly WorkerMiddleware[];
  /** @defaultValue warnings and errors as JSON on stderr */
  readonly logger?: Logger;
}

/** Options with every default filled in; times in ms. */
export interface Settings {
  readonly queues: readonly string[];
  readonly concurrency: number;
  readonly maxTransactions: number | undefined;
  readonly leaseMs: number;
  readonly workerId: string;
  readonly poll: { readonly min: number; readonly max: number };
  readonly quantum: number | undefined;
  readonly shutdownGraceMs: number;
  readonly stuckGraceMs: number;
  readonly unknownKindMs: number;
  readonly duties: boolean;
  readonly wakeups: boolean;
  readonly memoryCeiling: number | undefined;
  readonly guard: boolean;
  readonly middleware: WorkerMiddleware[];
  readonly logger: Logger;
}

export function settings(options: WorkerOptions): Settings {
  const poll = {
    min: Math.max(1, milliseconds(options.poll?.min ?? 50, "poll.min")),
    max: Math.max(1, milliseconds(options.poll?.max ?? 2000, "poll.max")),
  };
  if (poll.max < poll.min) throw new RangeError("poll.max must not be below poll.min");
  const leaseMs = milliseconds(options.lease ?? 30_000, "lease");
  if (leaseMs < 100) throw new RangeError("lease must be at least 100 ms, to leave time for its renewal");
  const queues = [...new Set(options.queues ?? ["default"])];
  for (const queue of queues) short("queue", queue, 0);
  if (queues.length === 0) throw new RangeError("queues must name at least one queue");
  return {
    queues,
    concurrency: whole("concurrency", options.concurrency ?? 16),
    maxTransactions:
      options.maxTransactions === undefined
        ? undefined
        : whole("maxTransactions", options.maxTransactions, 0),
    leaseMs,
    workerId: short("workerId", options.workerId ?? ownName()),
    poll,
    quantum: options.quantum === undefined ? undefined : whole("quantum", options.quantum),
    shutdownGraceMs: milliseconds(options.shutdownGrace ?? 25_000, "shutdownGrace"),
    stuckGraceMs: milliseconds(options.stuckGrace ?? 10_000, "stuckGrace"),
    unknownKindMs: Math.max(1, milliseconds(options.unknownKindDelay ?? 30_000, "unknownKindDelay")),
    duties: options.duties ?? true,
    wakeups: options.wakeups ?? true,
    memoryCeiling: options.memoryCeiling,
    guard: options.guard ?? false,
    middleware: [...(options.middleware ?? [])],
    logger: options.logger ?? jsonLogger(),
  };
}

/** A host may have a longer name than fits. */
const ownName = (): string => `${hostname().slice(0, 200)}:${process.pid}:${randomBytes(4).toString("hex")}`;

/** What the store would refuse again and again is better refused here, once. */
function short(name: string, value: string, min = 1): string {
  const bytes = Buffer.byteLength(value);
  if (bytes < min || bytes > 255 || value.includes("\0"))
    throw new RangeError(`${name} must have ${min} to 255 bytes and no U+0000, not ${JSON.stringify(value)}`);
  return value;
}

function whole(name: string, value: number, min = 1): number {
  if (!Number.isInteger(value) || value < min)
    throw new RangeError(`${name} must be a whole number >= ${min}, not ${value}`);
  return value;
}

/**
 * How many handlers may hold a transaction at the same time: two connections stay for claims, acks and renewals, which
 * must never wait for a handler.
 *
 * @throws RangeError where the pool is too small.
 */
export function transactionBudget(
  poolSize: number | undefined,
  { maxTransactions, concurrency }: Settings,
): number {
  if (poolSize === undefined) return maxTransactions ?? concurrency;
  const needed = (maxTransactions ?? 0) + 2;
  if (poolSize < needed) {
    throw new RangeError(
      `the pool has ${poolSize} connections and needs ${needed}: ` +
        `maxTransactions (${maxTransactions ?? 0}) for handlers that hold a transaction + 2 for the worker itself`,
    );
  }
  return maxTransactions ?? Math.max(1, Math.min(concurrency, poolSize - 2));
}
