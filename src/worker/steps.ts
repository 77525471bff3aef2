import type { Checkpoint } from "../store/index.js";
import { jsonCodec } from "../tasks/codec.js";
import { CheckpointStaleError } from "./outcome.js";

/** What a checkpoint holds, as SQL stores it; SQL reads `in_progress` and writes `crashes`. */
interface Stored {
  readonly completed: readonly string[];
  /** The step that was begun last and has not ended. */
  readonly in_progress: string | null;
  /** Every step that was begun, in order; those of them that are not completed are run again. */
  readonly started: readonly string[];
  readonly results: Readonly<Record<string, unknown>>;
  readonly crashes?: unknown;
}

/** Writes a checkpoint and resolves when it is durable; rejects when the lease is lost. */
export type SaveCheckpoint = (checkpoint: Checkpoint) => Promise<void>;

/**
 * The steps and the cursor of one attempt: what an earlier attempt has completed is skipped and its result given back.
 *
 * A step is recorded before it begins, so whoever runs the job after a crash knows which one was on its way. All writes go
 * one after another, because each replaces the whole.
 */
export class Steps {
  readonly #jobId: string;
  readonly #save: SaveCheckpoint;
  readonly #recorded: ReadonlySet<string>;
  readonly #completed: string[];
  readonly #started: Set<string>;
  readonly #results: Map<string, unknown>;
  readonly #visited = new Set<string>();
  readonly #crashes: unknown;
  #cursor: Uint8Array | null;
  #open: string[] = [];
  #writing: Promise<void> = Promise.resolve();

  /** @throws CheckpointStaleError where the checkpoint is not of this form. */
  constructor(
    jobId: string,
    checkpoint: Readonly<Record<string, unknown>> | null,
    cursor: Uint8Array | null,
    save: SaveCheckpoint,
  ) {
    const stored = readable(jobId, checkpoint ?? {});
    this.#jobId = jobId;
    this.#save = save;
    this.#completed = [...(stored.completed ?? [])];
    this.#recorded = new Set(this.#completed);
    this.#started = new Set([...(stored.started ?? []), ...this.#completed]);
    if (stored.in_progress) this.#started.add(stored.in_progress);
    this.#results = new Map(Object.entries(stored.results ?? {}));
    this.#crashes = stored.crashes;
    this.#cursor = cursor;
  }

  /** Where the handler has come to, as it last said. */
  get cursor(): Uint8Array | null {
    return this.#cursor;
  }

  async saveCursor(cursor: Uint8Array): Promise<void> {
    await this.#write(async () => {
      await this.#save(this.#form(this.#completed, this.#open, this.#results, cursor));
      this.#cursor = cursor;
    });
  }

  async run<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (!(await this.begin(name))) return this.#results.get(name) as T;
    const result = await work();
    await this.end(name, result);
    return result;
  }

  /** Records that a step begins; false: an earlier attempt has completed it. */
  async begin(name: string): Promise<boolean> {
    if (this.#visited.has(name)) throw new Error(`step ${JSON.stringify(name)} is used twice in one attempt`);
    this.#visited.add(name);
    if (this.#recorded.has(name)) return false;
    if (!this.#started.has(name)) this.#refuseChange(`step ${JSON.stringify(name)} was not there`);
    this.#started.add(name);
    this.#open.push(name);
    await this.#write(() => this.#save(this.#form(this.#completed, this.#open, this.#results, this.#cursor)));
    return true;
  }

  /**
   * Records that a step has ended, by way of `save`; it has not ended, here or in the store, where that fails.
   *
   * @throws TypeError for a result without a JSON form.
   */
  async end(name: string, result?: unknown, save: SaveCheckpoint = this.#save): Promise<void> {
    if (result !== undefined) checkResult(name, result);
    await this.#write(async () => {
      const completed = [...this.#completed, name];
      const open = this.#open.filter((other) => other !== name);
      const results = new Map(this.#results);
      if (result !== undefined) results.set(name, result);
      await save(this.#form(completed, open, results, this.#cursor));
      this.#completed.push(name);
      this.#open = open;
      if (result !== undefined) this.#results.set(name, result);
    });
  }

  /** A handler that ends without having come by a recorded step is another one than the one that recorded it. */
  finish(): void {
    this.#refuseChange("the handler has ended");
  }

  #form(
    completed: readonly string[],
    open: readonly string[],
    results: ReadonlyMap<string, unknown>,
    cursor: Uint8Array | null,
  ): Checkpoint {
    return {
      completed,
      inProgress: open.at(-1) ?? null,
      started: [...this.#started],
      results: Object.fromEntries(results),
      cursor,
      ...(this.#crashes !== undefined && { crashes: this.#crashes }),
    };
  }

  #refuseChange(event: string): void {
    const missing = [...this.#recorded].filter((name) => !this.#visited.has(name));
    if (missing.length === 0) return;
    throw new CheckpointStaleError(
      `job ${this.#jobId} has completed the steps ${[...this.#recorded].join(", ")}; ` +
        `${event} when this attempt had not come by ${missing.join(", ")}`,
    );
  }

  #write(work: () => Promise<void>): Promise<void> {
    const written = this.#writing.then(work);
    this.#writing = written.catch(() => undefined);
    return written;
  }
}

/** Others may write checkpoints too, with SQL; one of another form can't be gone on from. */
function readable(jobId: string, checkpoint: Readonly<Record<string, unknown>>): Partial<Stored> {
  const { completed, started, in_progress: inProgress, results } = checkpoint;
  const names = (value: unknown): boolean =>
    value === undefined || (Array.isArray(value) && value.every((name) => typeof name === "string"));
  const fits =
    names(completed) &&
    names(started) &&
    (inProgress === undefined || inProgress === null || typeof inProgress === "string") &&
    (results === undefined || (typeof results === "object" && results !== null && !Array.isArray(results)));
  if (!fits)
    throw new CheckpointStaleError(`the checkpoint of job ${jobId} does not list steps as it should`);
  return checkpoint;
}

function checkResult(name: string, result: unknown): void {
  try {
    jsonCodec.encode(result);
  } catch (error) {
    throw new TypeError(`the result of step ${JSON.stringify(name)} can't be recorded`, { cause: error });
  }
}
