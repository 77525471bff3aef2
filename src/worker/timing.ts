/** Milliseconds of a clock that no operator and no NTP sets back; leases are estimated by it. */
export const monotonicMs = (): number => performance.now();

/** The delay, give or take a fifth, so that a fleet does not act in step. */
export const jittered = (delayMs: number): number => delayMs * (0.8 + 0.4 * Math.random());

/** A timer of Node holds no more; a longer one would fire at once. */
const longestTimerMs = 2_147_483_647;

/**
 * Waits for so long, or until `signal` aborts; never rejects.
 *
 * @param options `ref: false`: the wait alone keeps no process alive.
 */
export function pause(
  delayMs: number,
  signal?: AbortSignal,
  { ref = true }: { readonly ref?: boolean } = {},
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    let timer: NodeJS.Timeout;
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const wait = (restMs: number): void => {
      const partMs = Math.min(Math.max(0, restMs), longestTimerMs);
      timer = setTimeout(() => (restMs > partMs ? wait(restMs - partMs) : done()), partMs);
      if (!ref) timer.unref();
    };
    wait(delayMs);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Waits until `signal` aborts, or `over` does; never rejects. */
export function aborted(signal: AbortSignal, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted || over.aborted) return resolve();
    const done = (): void => {
      signal.removeEventListener("abort", done);
      over.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done);
    over.addEventListener("abort", done);
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
