import type { AbortLike } from "./abort.js";
import { Semaphore } from "./semaphore.js";
import { monotonicMs } from "./timing.js";

/** Bounds of the wait of a job that finds the line full. */
const putOff = { minMs: 10, maxMs: 60_000 };
/** What an attempt takes, until one has ended. */
const guessMs = 1000;

/**
 * The jobs of a kind that has a limit of its own in this worker. One more may wait here for each that runs; the others go
 * back to the store, so that they do not take the slots of everybody.
 *
 * Those are put off one behind another, at twice the pace at which the line moves: a long backlog is not claimed and put
 * back again and again, and the line does not run dry.
 */
export class Line {
  readonly #limit: number;
  readonly #semaphore: Semaphore;
  #inside = 0;
  #meanMs: number | undefined;
  /** When the last one that was put off comes back. */
  #backAt = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#semaphore = new Semaphore(limit);
  }

  get full(): boolean {
    return this.#inside >= 2 * this.#limit;
  }

  /** How long the next one that does not fit is to wait elsewhere. */
  putOffMs(): number {
    const now = monotonicMs();
    const paceMs = (this.#meanMs ?? guessMs) / this.#limit / 2;
    const { minMs, maxMs } = putOff;
    this.#backAt = Math.min(Math.max(this.#backAt + paceMs, now + minMs), now + maxMs);
    return Math.ceil(this.#backAt - now);
  }

  /** @throws the reason of `signal`, where that aborts before it is the work's turn. */
  async run<T>(work: () => Promise<T>, signal: AbortLike): Promise<T> {
    this.#inside++;
    try {
      return await this.#semaphore.run(async () => {
        const begunAt = monotonicMs();
        try {
          return await work();
        } finally {
          const tookMs = monotonicMs() - begunAt;
          this.#meanMs = this.#meanMs === undefined ? tookMs : this.#meanMs + (tookMs - this.#meanMs) / 8;
        }
      }, signal);
    } finally {
      this.#inside--;
    }
  }
}
