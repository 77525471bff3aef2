import type { Checkpoint } from "../store/index.js";
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

/** Writes a checkpoint; rejects when the lease is lost. */
export type SaveCheckpoint = (checkpoint: Checkpoint) => Promise<void>;

/**
 * The steps of one attempt: what an earlier attempt has completed is skipped and its result given back.
 *
 * A step is recorded before it begins, so whoever runs the job after a crash knows which one was on its way.
 */
export class Steps {
  readonly #jobId: string;
  readonly #save: SaveCheckpoint;
  readonly #recorded: ReadonlySet<string>;
  readonly #completed: string[];
  readonly #started: Set<string>;
  readonly #results: Record<string, unknown>;
  readonly #visited = new Set<string>();
  readonly #crashes: unknown;
  #open: string[] = [];
  #writing: Promise<void> = Promise.resolve();

  constructor(jobId: string, checkpoint: Readonly<Record<string, unknown>> | null, save: SaveCheckpoint) {
    const stored = (checkpoint ?? {}) as Partial<Stored>;
    this.#jobId = jobId;
    this.#save = save;
    this.#completed = [...(stored.completed ?? [])];
    this.#recorded = new Set(this.#completed);
    this.#started = new Set([...(stored.started ?? []), ...this.#completed]);
    if (stored.in_progress) this.#started.add(stored.in_progress);
    this.#results = { ...stored.results };
    this.#crashes = stored.crashes;
  }

  /** Names of the steps that need not be run again. */
  get completed(): readonly string[] {
    return this.#completed;
  }

  async run<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (!(await this.begin(name))) return this.#results[name] as T;
    const result = await work();
    await this.end(name, result, (checkpoint) => this.#save(checkpoint));
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
    await this.#write(() => this.#save(this.checkpoint()));
    return true;
  }

  /** Records that a step has ended, by way of `save`; nothing is recorded where that fails. */
  async end(name: string, result: unknown, save: SaveCheckpoint): Promise<void> {
    if (result !== undefined) JSON.stringify(result);
    await this.#write(async () => {
      const [completed, open] = [[...this.#completed, name], this.#open.filter((other) => other !== name)];
      const results = result === undefined ? this.#results : { ...this.#results, [name]: result };
      await save(this.#form(completed, open, results));
      this.#completed.push(name);
      this.#open = open;
      if (result !== undefined) this.#results[name] = result;
    });
  }

  /** A handler that ends without having come by a recorded step is another one than the one that recorded it. */
  finish(): void {
    this.#refuseChange("the handler has ended");
  }

  checkpoint(): Checkpoint {
    return this.#form(this.#completed, this.#open, this.#results);
  }

  #form(
    completed: readonly string[],
    open: readonly string[],
    results: Readonly<Record<string, unknown>>,
  ): Checkpoint {
    return {
      completed,
      inProgress: open.at(-1) ?? null,
      started: [...this.#started],
      results,
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

  /** One after another: each write replaces the whole. */
  #write(work: () => Promise<void>): Promise<void> {
    const written = this.#writing.then(work);
    this.#writing = written.catch(() => undefined);
    return written;
  }
}
