import type { Duration } from "../duration.js";
import type { Ending } from "../worker/outcome.js";
import type { JobContext } from "../worker/context.js";
import type { Codec } from "./codec.js";
import type { StandardSchema } from "./standard-schema.js";

/** Does the work of one job. What it returns is the job's result; `job.snooze()` and its like end it otherwise. */
export type Handler<Payload = unknown, Result = unknown> = (
  payload: Payload,
  job: JobContext,
) => Result | Ending | Promise<Result | Ending>;

/** Does the work of several jobs of one kind; answers with a result each, in their order. An Error in it fails that one. */
export type BatchHandler<Payload = unknown, Result = unknown> = (
  batch: readonly { readonly payload: Payload; readonly job: JobContext }[],
) => readonly (Result | Ending | Error)[] | Promise<readonly (Result | Ending | Error)[]>;

export interface TaskOptions<Payload = unknown, Result = unknown, Input = Payload> {
  /** Checks what is enqueued, and reads it again for the handler. */
  readonly schema?: StandardSchema<Input, Payload>;
  /** Version of the payload's form. @defaultValue 1 */
  readonly version?: number;
  /** By version: turns a payload of that version into one of the next; may be async. */
  readonly upcasters?: Readonly<Record<number, (payload: unknown) => unknown>>;
  /** Former names of this kind; jobs of those are handled as well. */
  readonly aliases?: readonly string[];
  /** @defaultValue JSON */
  readonly codec?: Codec;
  /** For attempts of jobs that name no timeout of their own; milliseconds or "30s". @defaultValue none */
  readonly timeout?: Duration;
  /** How long to wait before another try; undefined: the store's back-off. `attempt` counts from 0. */
  readonly retryDelay?: (attempt: number, error: unknown) => Duration | undefined;
  /**
   * False: the error is nobody's fault, and no attempt is spent. The job is put off by what `retryDelay` says, or for 1 s
   * where that says nothing; after 0 it goes back to its place, as by `job.release()`.
   */
  readonly isFailure?: (error: unknown) => boolean;
  /** How many jobs of this kind a worker runs at the same time. @defaultValue the worker's concurrency */
  readonly concurrency?: number;
  /** Jobs to hand over together. A batch is begun when it is full or `maxDelay` after its first member came. */
  readonly batch?: { readonly maxSize: number; readonly maxDelay?: Duration };
  readonly handler?: Handler<Payload, Result>;
  readonly batchHandler?: BatchHandler<Payload, Result>;
}

declare const types: unique symbol;

/** A kind of job: the form of its payload, and how it is run. */
export interface Task<Payload = unknown, Result = unknown, Input = Payload> extends TaskOptions<
  Payload,
  Result,
  Input
> {
  readonly [types]?: { readonly payload: Payload; readonly result: Result; readonly input: Input };
}

/**
 * Defines a kind of job. Producers and workers share it; a producer needs no handler.
 *
 * @example
 * const tasks = { "email:welcome": task<{ to: string }>({ handler: async ({ to }) => send(to) }) };
 * const client = new Client(store, { tasks });
 * const worker = new Worker(store, { tasks });
 */
export function task<Payload, Result = unknown, Input = Payload>(
  definition: TaskOptions<Payload, Result, Input> | Handler<Payload, Result>,
): Task<Payload, Result, Input> {
  return typeof definition === "function" ? { handler: definition } : definition;
}

/** The tasks of an application, by kind: definitions or plain handlers. */
export type TaskMap = Readonly<Record<string, ((payload: never, job: JobContext) => unknown) | object>>;

/** What `task()` marks its definitions with; only the compiler sees it. */
interface Marked {
  readonly [types]?: { readonly payload: unknown; readonly result: unknown; readonly input: unknown };
}
type MarkOf<Entry> = Entry extends Marked ? NonNullable<Entry[typeof types]> : never;
type Function<Payload> = (payload: Payload, ...rest: never[]) => unknown;

/** What a producer hands over for a kind. An entry may be a task, a handler, or just the payload's type. */
export type InputOf<Entry> = Entry extends Marked
  ? MarkOf<Entry>["input"]
  : Entry extends Function<infer Payload>
    ? Payload
    : Entry extends { readonly handler: Function<infer Payload> }
      ? Payload
      : Entry extends { readonly batchHandler: Function<readonly { readonly payload: infer Payload }[]> }
        ? Payload
        : Entry;

/** What the handler of a kind leaves; unknown where the entry does not say. */
export type ResultOf<Entry> = Entry extends Marked
  ? MarkOf<Entry>["result"]
  : Entry extends (...args: never[]) => infer Result
    ? Exclude<Awaited<Result>, Ending>
    : Entry extends { readonly handler: (...args: never[]) => infer Result }
      ? Exclude<Awaited<Result>, Ending>
      : unknown;

/** The arguments behind the kind; the payload may be left out where it may be undefined. */
export type PayloadAnd<Entry, Options> =
  undefined extends InputOf<Entry>
    ? [payload?: InputOf<Entry>, options?: Options]
    : [payload: InputOf<Entry>, options?: Options];
