import { Abort, type AbortLike } from "./abort.js";

/** Milliseconds of a clock that no operator and no NTP sets back; leases are estimated by it. */
export const monotonicMs = (): number => performance.now();

/** The delay, give or take a fifth, so that a fleet does not act in step. */
export const jittered = (delayMs: number): number => delayMs * (0.8 + 0.4 * Math.random());

/** A timer of Node holds no more; a longer one would fire at once. */
const longestTimerMs = 2_147_483_647;

/** Whether a wait alone keeps the process alive. @defaultValue true */
export interface TimerOptions {
  readonly ref?: boolean;
}

/** Calls `done` after so long, however long that is; what it returns prevents that. */
export function after(delayMs: number, done: () => void, { ref = true }: TimerOptions = {}): () => void {
  let timer: NodeJS.Timeout;
  const wait = (restMs: number): void => {
    const partMs = Math.min(Math.max(0, restMs), longestTimerMs);
    timer = setTimeout(() => (restMs > partMs ? wait(restMs - partMs) : done()), partMs);
    if (!ref) timer.unref();
  };
  wait(delayMs);
  return () => clearTimeout(timer);
}

/** Waits for so long, or until `signal` aborts; never rejects. */
export function pause(delayMs: number, signal?: AbortLike, options?: TimerOptions): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = after(delayMs, done, options);
    signal?.addEventListener("abort", done);
  });
}

/**
 * What `work` resolves with; undefined when it goes on for `graceMs` after `abort`.
 *
 * @param work never rejects.
 */
export function unlessStuck<T>(work: Promise<T>, abort: Abort, graceMs: number): Promise<T | undefined> {
  return new Promise((resolve) => {
    let cancel: (() => void) | undefined;
    const onAbort = (): void => {
      cancel = after(graceMs, () => resolve(undefined), { ref: false });
    };
    if (abort.aborted) onAbort();
    else abort.addEventListener("abort", onAbort);
    void work.then((result) => {
      cancel?.();
      abort.removeEventListener("abort", onAbort);
      resolve(result);
    });
  });
}

/** Something that others wait for again and again. A wait that begins after `notify` waits for the next one. */
export class Notice {
  readonly #waiting = new Set<() => void>();

  notify(): void {
    if (this.#waiting.size === 0) return;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves at the next `notify`, or when `signal` aborts; whoever races this against others aborts it afterwards. */
  next(signal?: AbortLike): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal?.addEventListener("abort", wake);
    });
  }
}

/** Waits for whichever comes first, and lets go of the others. */
export async function firstOf(...waits: ((over: Abort) => Promise<unknown>)[]): Promise<void> {
  const over = new Abort();
  try {
    await Promise.race(waits.map((wait) => wait(over)));
  } finally {
    over.abort();
  }
}

/**
 * Does the work again and again, each time `everyMs` (give or take a fifth) after the last one ended, until it is stopped.
 * What the work throws goes to `failed`.
 */
export class Ticker {
  readonly #stop = new Abort();
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
    const stop = this.#stop;
    await pause(jittered(firstMs), stop);
    while (!stop.aborted) {
      try {
        await work();
      } catch (error) {
        failed(error);
      }
      await pause(jittered(everyMs), stop);
    }
  }

  /** Resolves when the work in hand has ended; it is not begun again. */
  stop(): Promise<void> {
    this.#stop.abort();
    return this.#done;
  }
}
