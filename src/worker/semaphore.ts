import type { AbortLike } from "./abort.js";

/** Lets so many in at a time; the others wait in line. */
export class Semaphore {
  readonly #line = new Set<() => void>();
  #free: number;

  constructor(size: number) {
    this.#free = size;
  }

  /** @throws the reason of `signal`, where that aborts before it is the work's turn. */
  async run<T>(work: () => Promise<T>, signal?: AbortLike): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      // Handed on, not freed: nobody who comes now may overtake.
      const [next] = this.#line;
      if (next) next();
      else this.#free++;
    }
  }

  #turn(signal: AbortLike | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#line.delete(enter);
        signal?.removeEventListener("abort", giveUp);
      };
      const enter = (): void => {
        leave();
        resolve();
      };
      const giveUp = (): void => {
        leave();
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- it is the caller's
        reject(signal?.reason);
      };
      if (signal?.aborted) return giveUp();
      this.#line.add(enter);
      signal?.addEventListener("abort", giveUp);
    });
  }
}
