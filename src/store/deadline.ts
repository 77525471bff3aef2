import { StoreError } from "./errors.js";

/** The end of the time that a call has. */
export class Deadline {
  readonly #at: number;

  constructor(private readonly timeoutMs: number) {
    this.#at = performance.now() + timeoutMs;
  }

  get leftMs(): number {
    return Math.max(0, this.#at - performance.now());
  }

  /** Answers as `promise` does, or with `unavailable` when the time is over; `promise` itself goes on. */
  async race<T>(promise: Promise<T>, waitingFor: string): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new StoreError("unavailable", `no ${waitingFor} within ${this.timeoutMs} ms`));
      }, this.leftMs);
    });
    try {
      return await Promise.race([promise, over]);
    } finally {
      clearTimeout(timer);
      // Whichever lost may still fail, and nobody listens any more.
      promise.catch(() => undefined);
    }
  }
}
