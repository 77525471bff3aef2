import { milliseconds, optionalMilliseconds } from "../duration.js";
import { describeError } from "../worker/describe-error.js";
import { UndecodableError } from "../worker/outcome.js";
import { jsonCodec, type Codec } from "./codec.js";
import { validated, type StandardSchema } from "./standard-schema.js";
import type { Handler, Task, TaskMap } from "./task.js";

/** A task as the runtime uses it, whatever the types of its payload and result. */
export interface KnownTask extends Omit<Task, "handler" | "batchHandler" | "schema" | "timeout" | "batch"> {
  readonly kind: string;
  readonly version: number;
  readonly codec: Codec;
  readonly timeoutMs: number | undefined;
  readonly batch: { readonly maxSize: number; readonly maxDelayMs: number };
  readonly schema?: StandardSchema<unknown, unknown>;
  readonly handler?: Handler;
  readonly batchHandler?: NonNullable<Task["batchHandler"]>;
}

/**
 * The tasks of an application by kind, with their aliases.
 *
 * @throws TypeError where they contradict each other, RangeError for a number or duration that is none.
 */
export class TaskRegistry {
  readonly #byKind = new Map<string, KnownTask>();
  readonly #byName = new Map<string, KnownTask>();

  constructor(tasks: TaskMap) {
    for (const [kind, entry] of Object.entries(tasks)) {
      const task = known(kind, entry);
      this.#byKind.set(kind, task);
      for (const name of [kind, ...(task.aliases ?? [])]) {
        const other = this.#byName.get(name);
        if (other) throw new TypeError(`${name} names two tasks: ${other.kind} and ${kind}`);
        this.#byName.set(name, task);
      }
    }
  }

  /** Kinds that have a handler. */
  get handled(): string[] {
    return [...this.#byName].filter(([, task]) => task.handler ?? task.batchHandler).map(([name]) => name);
  }

  get tasks(): IterableIterator<KnownTask> {
    return this.#byKind.values();
  }

  /** By kind or alias. */
  find(name: string): KnownTask | undefined {
    return this.#byName.get(name);
  }
}

function known(kind: string, entry: unknown): KnownTask {
  const task = (typeof entry === "function" ? { handler: entry } : entry) as Task | null | undefined;
  if (typeof task !== "object" || task === null) {
    throw new TypeError(`the task ${kind} must be a handler or a definition, not ${typeof entry}`);
  }
  if (task.handler && task.batchHandler) throw new TypeError(`the task ${kind} has two handlers`);
  if (task.batch && !task.batchHandler)
    throw new TypeError(`the task ${kind} needs a batchHandler for its batches`);
  const { timeout, batch, concurrency, version = 1, upcasters = {}, ...rest } = task;
  const own = (what: string): string => `${what} of the task ${kind}`;
  positive(own("the version"), version);
  if (concurrency !== undefined) positive(own("the concurrency"), concurrency);
  for (const from of Object.keys(upcasters).map(Number)) {
    positive(own("the version of an upcaster"), from);
    if (from >= version)
      throw new TypeError(`${own("the upcaster")} from version ${from} leads beyond ${version}`);
  }
  return {
    ...(rest as Omit<KnownTask, "kind" | "version" | "codec" | "timeoutMs" | "batch">),
    kind,
    version,
    upcasters,
    codec: task.codec ?? jsonCodec,
    timeoutMs: optionalMilliseconds(timeout, own("the timeout")),
    batch: {
      maxSize: positive(own("batch.maxSize"), batch?.maxSize ?? 100),
      maxDelayMs: milliseconds(batch?.maxDelay ?? 0, own("batch.maxDelay")),
    },
    ...(concurrency !== undefined && { concurrency }),
  };
}

function positive(what: string, value: number): number {
  if (!Number.isInteger(value) || value < 1)
    throw new RangeError(`${what} must be a whole number >= 1, not ${value}`);
  return value;
}

/** The payload as bytes, checked by the task's schema. @throws ValidationError, or what the codec throws. */
export async function encodePayload(
  kind: string,
  task: KnownTask | undefined,
  payload: unknown,
): Promise<Buffer> {
  await checkPayload(kind, task, payload);
  try {
    return Buffer.from((task?.codec ?? jsonCodec).encode(payload));
  } catch (error) {
    if (payload !== undefined) throw error;
    throw new TypeError(`${kind} needs a payload: its codec can't write undefined`, { cause: error });
  }
}

/** What a result is written with. */
export type ResultForm = Pick<KnownTask, "codec" | "version">;

export const jsonForm: ResultForm = { codec: jsonCodec, version: 1 };

/** What a handler returned, as it is stored; undefined leaves nothing. @throws Error where the codec can't write it. */
export function encodeResult(
  { codec, version }: ResultForm,
  value: unknown,
): { readonly bytes: Buffer; readonly schemaVersion: number } | undefined {
  if (value === undefined) return undefined;
  try {
    return { bytes: Buffer.from(codec.encode(value)), schemaVersion: version };
  } catch (error) {
    throw new Error(`the result can't be stored: ${describeError(error)}`, { cause: error });
  }
}

/** @throws ValidationError where the task has a schema and it refuses the payload. */
export async function checkPayload(
  kind: string,
  task: KnownTask | undefined,
  payload: unknown,
): Promise<void> {
  if (task?.schema) await validated(kind, task.schema, payload);
}

/**
 * The payload as the handler gets it: decoded, brought to the task's version, read by its schema. A promise of it only where
 * something has to be waited for, which most payloads are spared.
 *
 * @throws UndecodableError, or rejects with it.
 */
export function decodePayload(task: KnownTask, bytes: Uint8Array, schemaVersion: number): unknown {
  if (task.schema || schemaVersion !== task.version) return decodeByTask(task, bytes, schemaVersion);
  try {
    return task.codec.decode(bytes);
  } catch (error) {
    throw undecodable(error);
  }
}

async function decodeByTask(task: KnownTask, bytes: Uint8Array, schemaVersion: number): Promise<unknown> {
  try {
    let payload = task.codec.decode(bytes);
    if (schemaVersion > task.version) {
      throw new Error(`version ${schemaVersion} is newer than the ${task.version} that this worker knows`);
    }
    for (let version = schemaVersion; version < task.version; version++) {
      const upcast = task.upcasters?.[version];
      if (!upcast) throw new Error(`there is no upcaster from version ${version}`);
      payload = await upcast(payload);
    }
    return task.schema ? await validated(task.kind, task.schema, payload) : payload;
  } catch (error) {
    throw undecodable(error);
  }
}

function undecodable(error: unknown): UndecodableError {
  const reason = error instanceof Error ? error.message : describeError(error);
  return new UndecodableError(`the payload can't be read: ${reason}`, { cause: error });
}
