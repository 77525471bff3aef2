import type { PgStore } from "../store/index.js";
import type { TaskRegistry } from "../tasks/registry.js";
import { describeError } from "./describe-error.js";
import { jobFields, type WorkerEmitter } from "./events.js";
import type { Logger } from "./logger.js";

/** Kinds may be made up by anybody. */
const maxCounted = 1000;

export interface UnhandledKindsOptions {
  readonly store: PgStore;
  readonly registry: TaskRegistry;
  readonly workerId: string;
  readonly queues: readonly string[];
  readonly events: WorkerEmitter;
  readonly logger: Logger;
}

/** Kinds of jobs in the worker's queues that none of its tasks handles. */
export class UnhandledKinds {
  readonly #options: UnhandledKindsOptions;
  readonly #seen = new Map<string, number>();

  constructor(options: UnhandledKindsOptions) {
    this.#options = options;
    options.events.on("job:unknown", ({ job }) => {
      const count = this.#seen.get(job.kind) ?? 0;
      if (count === 0 && this.#seen.size >= maxCounted) return;
      if (count === 0)
        options.logger.warn("a job of an unknown kind is put off for other workers", jobFields(job));
      this.#seen.set(job.kind, count + 1);
    });
  }

  /** Those that came by, with how often. */
  get seen(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#seen);
  }

  /** Looks once for those that wait, and tells. Nobody waits for it, and where it fails nothing is missed. */
  async look(): Promise<void> {
    const { store, registry, workerId, queues, events, logger } = this.#options;
    try {
      const handled = new Set(registry.handled);
      const waiting = await store.distinctKinds(maxCounted, queues);
      const kinds = waiting.filter((kind) => !handled.has(kind)).slice(0, 100);
      if (kinds.length > 0) events.tell("worker:unhandled", { workerId, kinds });
    } catch (error) {
      logger.debug("the kinds that wait could not be read", { error: describeError(error) });
    }
  }
}
