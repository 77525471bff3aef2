import type { Attempt } from "./attempt.js";

export interface SuspectsOptions {
  /** Runs the attempt once `ready`; resolves when its slot is free again. */
  readonly run: (attempt: Attempt, ready: Promise<unknown>) => Promise<void>;
  /** Hands the attempt back for a while; resolves when that is durable. */
  readonly putOff: (attempt: Attempt, delayMs: number) => Promise<void>;
}

/** How far apart those are put off that can't run now. */
const apartMs = 100;

/**
 * Jobs that were running when a worker died, of this job or of another. Those that died together must not run together
 * again, or the guiltless are quarantined with the guilty: one runs at a time, and the others are not even held.
 */
export class Suspects {
  readonly #options: SuspectsOptions;
  #running = false;
  #waiting = 0;

  constructor(options: SuspectsOptions) {
    this.#options = options;
  }

  accept(attempts: readonly Attempt[]): void {
    const rest = [...attempts];
    const next = this.#running ? undefined : rest.shift();
    const putOff = rest.map((attempt) => this.#options.putOff(attempt, ++this.#waiting * apartMs));
    if (!next) return;
    this.#running = true;
    this.#waiting = 0;
    void this.#options.run(next, Promise.all(putOff)).then(() => {
      this.#running = false;
      this.#waiting = 0;
    });
  }
}
