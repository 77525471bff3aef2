/** Milliseconds of a clock that no operator and no NTP sets back; leases are estimated by it. */
export const monotonicMs = (): number => performance.now();

/** The delay, give or take a fifth, so that a fleet does not act in step. */
export const jittered = (delayMs: number): number => delayMs * (0.8 + 0.4 * Math.random());

/** Waits for so long, or until `signal` aborts; never rejects. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    // A delay beyond 2^31 - 1 ms would fire at once.
    const timer = setTimeout(done, Math.min(Math.max(0, delayMs), 2_147_483_647));
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Something that others wait for again and again. A wait that begins after `notify` waits for the next one. */
export class Notice {
  readonly #waiting = new Set<() => void>();

  notify(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves at the next `notify`, or when `signal` aborts; whoever races this against others aborts it afterwards. */
  next(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }
}

/** Waits for whichever comes first, and lets go of the others. */
export async function firstOf(...waits: ((signal: AbortSignal) => Promise<unknown>)[]): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race(waits.map((wait) => wait(over.signal)));
  } finally {
    over.abort();
  }
}

/**
 * Does the work again and again, each time `everyMs` (give or take a fifth) after the last one ended, until it is stopped.
 * What the work throws goes to `failed`.
 */
export class Ticker {
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(
    everyMs: number,
    work: () => Promise<void> | void,
    failed: (error: unknown) => void,
    firstMs = everyMs,
  ) {
    this.#done = this.#run(everyMs, work, failed, firstMs);
  }

  async #run(
    everyMs: number,
    work: () => Promise<void> | void,
    failed: (error: unknown) => void,
    firstMs: number,
  ): Promise<void> {
    const { signal } = this.#stop;
    await pause(jittered(firstMs), signal);
    while (!signal.aborted) {
      try {
        await work();
      } catch (error) {
        failed(error);
      }
      await pause(jittered(everyMs), signal);
    }
  }

  /** Resolves when the work in hand has ended; it is not begun again. */
  stop(): Promise<void> {
    this.#stop.abort();
    return this.#done;
  }
}
