import type { AbortLike } from "./abort.js";
import { firstOf, monotonicMs, Notice, pause } from "./timing.js";

/** How long handlers may go on once the worker stops. The time can be cut short, never prolonged. */
export class Drain {
  readonly #changed = new Notice();
  #until = Infinity;

  /** From now on. */
  limit(timeoutMs: number): void {
    this.#until = Math.min(this.#until, monotonicMs() + timeoutMs);
    this.#changed.notify();
  }

  /** Resolves when the time is over, or `signal` aborts. */
  async over(signal: AbortLike): Promise<void> {
    for (;;) {
      const restMs = this.#until - monotonicMs();
      if (signal.aborted || restMs <= 0) return;
      // Ends with the signal too.
      const next = this.#changed.next(signal);
      await firstOf(
        (over) => pause(restMs, over),
        () => next,
      );
    }
  }
}
